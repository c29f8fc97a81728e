"""The page Now in Chromium: a run is watched to its verdict, a status, and the tenants of a share daemon, whose weights a slider sets.
This process announces them all."""

import pytest
import sample_lines as sample
from live_tools import awaited
from share_api import daemon
from ui_tools import check_looks, in_a_browser, pages_over

from windtunnel.live.process import Announcement
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.results.document import Column, Marked, Table
from windtunnel.results.status import Status, parsers
from windtunnel.runs import Verdict
from windtunnel.runs.registry.percentiles import PERCENTILES

pytestmark = [pytest.mark.slow, in_a_browser]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with pages_over(tmp_path_factory.mktemp("now")) as address:
        yield address


def test_a_run_is_watched_to_its_verdict(page_of, address, tmp_path):
    page = page_of(address)
    page.get_by_role("heading", name="Nothing runs").wait_for()
    plan = sample.plan(title="<b>echo</b> & co")
    announcement = Announcement()
    with announcement.command("run"), announcement.running(sample.spec([plan]), tmp_path / "first") as run:
        for line in sample.engine_lines(plan):
            run.line("windtunnel", line, line.model_dump_json())
        page.get_by_role("heading", name="<b>echo</b> & co").wait_for()  # escaped, and no element
        page.get_by_role("region", name="Stages").get_by_text("server app_rx").wait_for()
        heads = page.get_by_role("region", name="Workloads").get_by_role("columnheader").all_inner_texts()
        assert [head.lower() for head in heads[2:-1]] == [each.name for each in PERCENTILES if each.in_headline]
        page.locator(".chart canvas").first.wait_for()
        page.locator(".checks li").first.wait_for()
        check_looks(page)
        assert page.evaluate("[...document.querySelectorAll('button, .scroll')].every((of) => of.tabIndex === 0)")
        run.ended(Verdict(True))
        page.get_by_role("status").get_by_text("valid", exact=True).wait_for()
    page.get_by_role("heading", name="Ended", exact=True).wait_for()
    ended = page.locator(".ended li", has_text=str(tmp_path / "first"))
    assert ended.locator(".pill").inner_text() == "valid"


def test_an_empty_page_starts_the_shipped_echo(page_of, address, monkeypatch):
    begun = []
    monkeypatch.setattr(StartedRuns, "start", lambda self, file, text: begun.append(file))
    page = page_of(address)
    button = page.get_by_role("button", name="Run the shipped echo")
    button.wait_for()
    check_looks(page)
    button.press("Enter")  # by keyboard
    page.get_by_role("heading", name="Now", exact=True).wait_for()
    assert [file.name for file in awaited(lambda: begun)] == ["echo.toml"]


def lab(names) -> Status:
    states = Column("state", [Marked("lost", "loss") for _ in names], words=True)
    table = Table([Column("testbed", names, words=True), states])
    return Status("Lab", f"{len(names)} testbeds", table, "Its runs are in the lab.")


def test_a_status_is_seen(page_of, address, monkeypatch):
    monkeypatch.setitem(parsers(), "lab", lab)
    announcement = Announcement()
    with announcement.command("study", at_once=True):
        page = page_of(address)
        page.get_by_text("No run at the moment.").wait_for()
        announcement.status("lab", ["<i>alpha</i>"])
        rows = page.get_by_role("region", name="Lab").locator("tbody tr")
        rows.first.wait_for()
        assert [row.split("\t") for row in rows.all_inner_texts()] == [
            ["<i>alpha</i>", "lost"]
        ]  # escaped, and no element
        check_looks(page)
        announcement.status("lab", ["alpha", "beta"])
        page.get_by_text("2 testbeds").wait_for()
        page.reload()
        page.get_by_text("Its runs are in the lab.").wait_for()


def test_tenants_are_seen_and_weighted_and_a_refusal_says_why(page_of, address, tmp_path):
    api = tmp_path / "share.sock"
    with daemon(api) as asked, Announcement().command("share serve", at_once=True, api=str(api)):
        page = page_of(address, refused="409")
        row = page.get_by_role("region", name="Tenants").locator("tbody tr")
        row.wait_for()
        assert row.inner_text().split() == ["web", "ls", "128", "0.50", "1", "52.0", "µs", "40.0", "µs"]
        assert "128 more" in page.locator("main").inner_text()
        check_looks(page)
        slider = page.get_by_role("slider", name="web")
        slider.press("ArrowRight")  # by keyboard
        page.locator("output", has_text="129").wait_for()
        assert awaited(lambda: asked) == [{"web": {"weight": 129}}]
        slider.press("End")  # 512
        page.get_by_role("alert").get_by_text("no room for 300").wait_for()
