"""The page History in Chromium: a scenario and a metric are chosen, the change is read, its run is opened."""

import pytest
from comparing import SCENARIO
from histories import history_of, noisy
from sample_runs import HOSTILE
from ui_tools import CHROMIUM, check_accessibility, free_port, page_of, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fake_engine,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
RUNS, FEW = 30, 3
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A history with a regression from its 19th run on, and a short one of hostile words."""
    directory = tmp_path_factory.mktemp("histories")
    history_of(directory / "runs" / "echo", noisy(RUNS, 11, 18, -0.05))
    other = SCENARIO | {"server": {"batch": {"app_rx": 64}}}
    history_of(
        directory / "runs" / "few", noisy(FEW, 1), scenario=other, title=HOSTILE, labels=lambda n: {"fw": HOSTILE}
    )
    with served(directory, free_port()) as address:
        yield address


def whole(page):
    """The page, once all runs were read."""
    page.goto(f"{page.url.split('?')[0]}")
    while "still" in page.locator("main").inner_text() or page.get_by_label("Scenario").count() == 0:
        page.wait_for_timeout(300)
        page.reload()
    return page


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")])
def test_a_regression_is_seen_and_its_run_opened(address, width, scheme):
    with page_of(address + "history", viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        whole(page).locator(".chart canvas").wait_for(timeout=WAIT_MS)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        check_accessibility(page)
        assert (
            "regression: commit=c18 (2026-12-10 12:00): echo responses_per_s -"
            in page.get_by_role("status").inner_text()
        )
        rows = page.get_by_role("region", name="Runs").locator("tbody tr")
        assert rows.count() == RUNS and all("M/s" in text and "valid" in text for text in rows.all_inner_texts())
        changed = rows.filter(has_text="regression")
        assert changed.count() == 1 and "with commit c17 → c18" in changed.inner_text()
        changed.get_by_role("link").press("Enter")  # by keyboard
        page.get_by_role("heading", name="L-App echo").wait_for(timeout=WAIT_MS)
        assert "commit=c18" in page.locator(".pills").inner_text()


def test_a_metric_and_a_label_are_chosen_by_keyboard(address):
    with page_of(address + "history") as page:
        whole(page).get_by_label("Metric").select_option("echo p99")
        page.get_by_label("Over").select_option("commit")
        page.get_by_role("button", name="Show").press("Enter")
        page.get_by_role("heading", name="echo p99").wait_for(timeout=WAIT_MS)
        assert "Lower is better" in page.locator("main").inner_text()
        assert page.get_by_label("Over").input_value() == "commit"
        assert "µs" in page.get_by_role("region", name="Runs").locator("tbody td").first.inner_text()


def test_a_point_of_the_chart_is_its_run(address):
    with page_of(address + "history") as page:
        whole(page).locator(".chart canvas").wait_for(timeout=WAIT_MS)
        over = page.locator(".u-over")
        over.click(position={"x": 1, "y": 60})
        page.get_by_role("heading", name="L-App echo").wait_for(timeout=WAIT_MS)
        assert "commit=c00" in page.locator(".pills").inner_text()


def test_hostile_words_are_text_and_too_few_runs_are_said(address):
    with page_of(address + "history") as page:
        whole(page).goto(f"{address}history?run=few/00/run.json&by=fw")
        page.locator(".chart canvas").wait_for(timeout=WAIT_MS)
        assert f"fw={HOSTILE}" in page.get_by_role("region", name="Runs").inner_text()
        assert HOSTILE in page.get_by_label("Scenario").locator("option:checked").inner_text()
        assert "cannot tell: too few runs: 3 runs, 12 are needed" in page.get_by_role("status").inner_text()
        assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(
    "query", ["of=nonsense&metric=%00&by=../..&state=%3Cb%3E", "run=/etc/passwd", "metric=p99&by="]
)
def test_what_does_not_exist_is_as_if_not_asked(address, query):
    with page_of(address + "history") as page:
        whole(page).goto(f"{address}history?{query}")
        page.get_by_role("heading", name="echo responses_per_s").wait_for(timeout=WAIT_MS)


def test_without_a_run_the_page_says_how_to_make_one(tmp_path):
    with served(tmp_path, free_port()) as address, page_of(address + "history") as page:
        page.get_by_role("heading", name="No run yet").wait_for(timeout=WAIT_MS)
