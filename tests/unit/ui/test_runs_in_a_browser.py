"""The page Runs in Chromium: a run is found again, and its report opened."""

import pytest
from command_line import SCENARIO, windtunnel
from sample_runs import HOSTILE, RUNS, execute
from ui_tools import CHROMIUM, check_accessibility, free_port, page_of, served, until_listed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fake_engine,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


@pytest.fixture
def address(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="200ms"))
    windtunnel("run", "echo.toml", "--out", "runs/one", "-q", "--no-report", cwd=tmp_path)
    execute(tmp_path / "runs" / "two", *RUNS["both sides"], title=HOSTILE)
    (tmp_path / "runs" / "three").mkdir()
    (tmp_path / "runs" / "three" / "run.json").write_text("{")
    with served(tmp_path, free_port()) as address:
        yield address


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_run_is_found_and_its_report_opened(address, width, scheme):
    with page_of(address + "runs", viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        until_listed(page, 3)
        check_accessibility(page)
        assert page.get_by_role("link", name=HOSTILE, exact=True).count() == 1  # text, and no element
        assert "not JSON" in page.locator("tr", has_text="three").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.get_by_label("Find").fill("L-App server.batch.app_rx >= 1")
        page.get_by_label("Find").press("Enter")
        assert page.get_by_role("status").inner_text().startswith("1 ")
        page.get_by_role("link", name="L-App echo", exact=True).click()
        page.get_by_role("heading", name="L-App echo").wait_for()
        page.locator(".js-plotly-plot").first.wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_run_gets_tags_and_a_note_and_two_are_compared(address, tmp_path, width, scheme):
    windtunnel("run", "echo.toml", "--out", "runs/four", "-q", "--no-report", cwd=tmp_path)
    with page_of(address + "runs", viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        until_listed(page, 4)
        check_accessibility(page)
        page.locator("tr", has_text="four/run.json").get_by_role("link", name="Note").click()
        page.get_by_label("Tags").fill("baseline")
        page.get_by_label("Note").fill(HOSTILE)
        check_accessibility(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.get_by_role("button", name="Save").press("Enter")
        assert "baseline" in page.locator("tr", has_text="four/run.json").inner_text()
        page.get_by_label("Find").fill("tag = baseline")
        page.get_by_label("Find").press("Enter")
        assert page.get_by_role("status").inner_text().startswith("1 ")
        assert page.get_by_text(HOSTILE, exact=True).count() == 1
        page.goto(address + "runs?q=L-App")
        for name in ("one", "four"):
            page.get_by_label(f"Compare L-App echo, {name}/run.json").check()
        page.get_by_role("button", name="Compare two").click()
        page.get_by_role("heading", name="B against A").wait_for()


def test_one_run_alone_is_not_compared(address):
    with page_of(address + "compare?run=one%2Frun.json") as page:
        assert "not two runs" in page.get_by_role("alert").inner_text()


def test_a_search_that_cannot_be_read_says_so(address):
    with page_of(address + "runs?q=p99+%3C") as page:
        assert "no condition" in page.get_by_role("alert").inner_text()
