"""The page History in Chromium: a scenario and a metric are chosen, the change is read, its run is opened."""

import re

import pytest
from comparing import SCENARIO
from histories import history_of, noisy
from sample_runs import HOSTILE
from ui_tools import check_looks, in_a_browser, pages_over, text_at, without

pytestmark = [pytest.mark.slow, in_a_browser]
RUNS, FEW = 30, 3


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A history with a regression from its 19th run on, and a short one of hostile words."""
    directory = tmp_path_factory.mktemp("histories")
    history_of(directory / "runs" / "echo", noisy(RUNS, 11, 18, -0.05))
    other = SCENARIO | {"server": {"batch": {"app_rx": 64}}}
    history_of(
        directory / "runs" / "few", noisy(FEW, 1), scenario=other, title=HOSTILE, labels=lambda n: {"fw": HOSTILE}
    )
    with pages_over(directory) as address:
        yield address + "history"


def until_opened(page, run: str) -> None:
    """Waits until the page is the report of a run. What it looks like is no matter here, and costs seconds."""
    page.wait_for_url(re.compile(rf"/report\?path=echo(/|%2F){run}(/|%2F)run\.json$"))


def test_a_regression_is_seen_and_its_run_opened(page_of, address):
    page = without(page_of(address), "**/report?*")
    page.locator(".chart canvas").wait_for()
    check_looks(page)
    assert "--label" not in page.locator("main").inner_text()
    verdict = page.get_by_role("status").inner_text()
    assert "regression: commit=c18 (2026-12-10 12:00): echo responses_per_s -" in verdict
    rows = page.get_by_role("region", name="Runs").locator("tbody tr")
    assert rows.count() == RUNS and all("M/s" in text and "valid" in text for text in rows.all_inner_texts())
    changed = rows.filter(has_text="regression")
    assert changed.count() == 1 and "with commit c17 → c18" in changed.inner_text()
    changed.get_by_role("link").press("Enter")  # by keyboard
    until_opened(page, "18")


def test_a_metric_and_a_label_are_chosen_by_keyboard_and_a_point_of_the_chart_is_its_run(page_of, address):
    page = without(page_of(address), "**/report?*")
    page.get_by_label("Metric").select_option("echo p99")
    page.get_by_label("Over").select_option("commit")
    page.get_by_role("button", name="Show").press("Enter")
    page.get_by_role("heading", name="echo p99").wait_for()
    assert "Lower is better" in page.locator("main").inner_text()
    assert page.get_by_label("Over").input_value() == "commit"
    assert "µs" in page.get_by_role("region", name="Runs").locator("tbody td").first.inner_text()
    page.locator(".u-over").click(position={"x": 1, "y": 60})
    until_opened(page, "00")


def test_one_run_stands_in_the_middle_of_a_day(page_of, tmp_path):
    history_of(tmp_path / "runs" / "echo", noisy(1, 1))
    with pages_over(tmp_path) as address:
        page = page_of(address + "history")
        page.locator(".chart canvas").wait_for()
        assert page.evaluate("drawn.scales.x.max - drawn.scales.x.min") == 86400


def test_runs_without_labels_say_how_to_get_them(tmp_path):
    history_of(tmp_path / "runs" / "echo", noisy(FEW, 1), labels=lambda n: {})
    with pages_over(tmp_path) as address:
        assert "--label commit=" in text_at(address + "history")


def test_hostile_words_are_text_and_too_few_runs_are_said(page_of, address):
    page = page_of(f"{address}?run=few/00/run.json&by=fw")
    page.locator(".chart canvas").wait_for()
    assert f"fw={HOSTILE}" in page.get_by_role("region", name="Runs").inner_text()
    assert HOSTILE in page.get_by_label("Scenario").locator("option:checked").inner_text()
    assert "cannot tell: too few runs: 3 runs, 12 are needed" in page.get_by_role("status").inner_text()
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(
    "query", ["of=nonsense&metric=%00&by=../..&state=%3Cb%3E", "run=/etc/passwd", "metric=p99&by="]
)
def test_what_does_not_exist_is_as_if_not_asked(address, query):
    assert '<h2 id="of-metric">echo responses_per_s' in text_at(f"{address}?{query}")


def test_without_a_run_the_page_says_how_to_make_one(tmp_path):
    with pages_over(tmp_path) as address:
        assert "<h2>No run yet</h2>" in text_at(address + "history")
