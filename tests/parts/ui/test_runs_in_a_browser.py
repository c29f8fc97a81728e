"""The page Runs in Chromium: a run is found again, its report opened, tagged, and compared with another one."""

import pytest
from comparing import made
from sample_runs import HOSTILE, RUNS, execute
from ui_tools import check_looks, in_a_browser, pages_over, text_at, without

pytestmark = [pytest.mark.slow, in_a_browser]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The pages over four runs: two of the same scenario, one of hostile words, a damaged one."""
    directory = tmp_path_factory.mktemp("runs")
    for n, name in enumerate(("one", "four")):
        made(directory / "runs" / name, at_s=n, seed=n)
    execute(directory / "runs" / "two", *RUNS["both sides"], title=HOSTILE)
    (directory / "runs" / "three").mkdir()
    (directory / "runs" / "three" / "run.json").write_text("{")
    with pages_over(directory) as address:
        yield address


def find(page, text: str) -> str:
    """What the page says of a search."""
    page.get_by_label("Find").fill(text)
    with page.expect_navigation():
        page.get_by_label("Find").press("Enter")
    return page.get_by_role("status").inner_text()


def test_a_run_is_found_and_its_report_opened(page_of, address):
    page = page_of(address + "runs")
    assert page.get_by_role("status").inner_text().startswith("4 ")
    check_looks(page)
    assert page.get_by_role("link", name=HOSTILE, exact=True).count() == 1  # text, and no element
    assert "not JSON" in page.locator("tr", has_text="three").inner_text()
    assert find(page, "L-App server.batch.app_rx >= 1").startswith("2 ")
    page.get_by_role("link", name="L-App echo", exact=True).first.click()
    page.get_by_role("heading", name="L-App echo").wait_for()
    page.locator(".js-plotly-plot").first.wait_for()


def test_a_run_gets_tags_and_a_note_and_two_are_compared(page_of, address):
    page = page_of(address + "runs")
    page.locator("tr", has_text="four/run.json").get_by_role("link", name="Note").click()
    page.get_by_label("Tags").fill("baseline")
    page.get_by_label("Note").fill(HOSTILE)
    check_looks(page)
    page.get_by_role("button", name="Save").press("Enter")
    assert "baseline" in page.locator("tr", has_text="four/run.json").inner_text()
    assert find(page, "tag = baseline").startswith("1 ")
    assert page.get_by_text(HOSTILE, exact=True).count() == 1
    find(page, "L-App")
    compare = page.get_by_role("button", name="Compare two runs")
    ticks = [page.get_by_label(f"Compare L-App echo, {name}/run.json") for name in ("one", "four")]
    assert compare.is_disabled()
    for tick in ticks:
        tick.check()
    page.get_by_text("A is L-App echo (four). B is L-App echo (one).", exact=True).wait_for()  # as in the list
    check_looks(page)
    ticks[0].uncheck()
    page.get_by_text("Tick one more run to compare.", exact=True).wait_for()
    assert compare.is_disabled()
    ticks[0].check()
    without(page, "**/compare?*")
    compare.click()
    page.wait_for_url("**/compare?*")
    assert "B against A" in text_at(page.url)


def test_the_order_is_called_by_what_is_sorted(page_of, address):
    page = page_of(address + "runs")
    order = page.get_by_label("Order")
    assert order.locator("option").all_inner_texts() == ["newest first", "oldest first"]
    page.get_by_label("Sort by").select_option("p99")
    assert order.locator("option").all_inner_texts() == ["highest first", "lowest first"]
    order.select_option("lowest first")
    with page.expect_navigation():
        page.get_by_role("button", name="Find").click()
    assert order.locator("option:checked").inner_text() == "lowest first"


def test_without_a_script_two_runs_are_compared_all_the_same(address):
    page = text_at(address + "runs")
    form = page.partition('<form id="compare"')[2].partition("</form>")[0]
    assert "the upper one is A, the other one B" in form and "disabled" not in form


@pytest.mark.parametrize(
    ("path", "refusal"), [("compare?run=one%2Frun.json", "not two runs"), ("runs?q=p99+%3C", "no condition")]
)
def test_what_cannot_be_done_is_said(address, path, refusal):
    assert refusal in text_at(address + path).partition('role="alert"')[2].partition("</p>")[0]
