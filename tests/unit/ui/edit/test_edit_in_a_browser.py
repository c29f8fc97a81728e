"""The page Edit in Chromium: a scenario is changed in text and form, saved, and started; the run is found in Now and edited again."""

import pytest
from command_line import SCENARIO
from ui_tools import CHROMIUM, free_port, page_of, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fake_engine,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
WAIT_MS = 60_000
TEXT = SCENARIO.format(duration="300ms")


@pytest.fixture
def address(tmp_path):
    (tmp_path / "echo.toml").write_text(TEXT)
    with served(tmp_path, free_port()) as address:
        yield address


def says(page, words: str):
    return page.locator("#checked").get_by_text(words).wait_for(timeout=WAIT_MS)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_scenario_is_edited_and_started(address, tmp_path, width, scheme):
    with page_of(address + "edit", viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        page.get_by_role("link", name="echo.toml", exact=True).click()
        says(page, "valid scenario")
        assert page.get_by_role("group", name="Placement").get_by_text("app_rx:0").count() == 2
        text = page.get_by_label("TOML")
        text.fill(TEXT.replace("inflight", "infligth"))
        says(page, 'echo.toml:11: unknown key "infligth" in [client]')
        page.get_by_role("button", name="Go to line 11").click()
        assert page.evaluate("text.value.slice(text.selectionStart, text.selectionEnd)") == "infligth = 1024"
        text.fill(TEXT)
        says(page, "valid scenario")
        field = page.get_by_label("inflight in client.inflight")
        field.fill("64")
        field.press("Enter")
        says(page, "64 in flight at most")
        assert "inflight = 64" in text.input_value()
        assert page.evaluate("document.activeElement.id") == "key-client.inflight"
        page.get_by_label("Save as").fill("small.toml")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.get_by_role("button", name="Start").click()
        page.get_by_role("heading", name="Ended", exact=True).wait_for(timeout=WAIT_MS)
        assert (tmp_path / "small.toml").read_text() == TEXT.replace("1024", "64")
        assert (tmp_path / "echo.toml").read_text() == TEXT
        edited_again(page, address)


def edited_again(page, address):
    """The run that ended is found in Runs, and its scenario edited."""
    page.goto(address + "runs")
    while not page.get_by_role("link", name="Edit L-App echo").count():
        page.wait_for_timeout(300)
        page.reload()
    page.get_by_role("link", name="Edit L-App echo").click()
    says(page, "valid scenario")
    assert "inflight = 64" in page.get_by_label("TOML").input_value()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("A scenario below").wait_for()


def test_tables_are_added_and_removed_and_another_wire_has_other_keys(address):
    with page_of(address + "edit?kind=file&name=echo.toml") as page:
        page.get_by_role("button", name="Add to workload", exact=True).click()
        page.get_by_role("group", name="workload 2").wait_for(timeout=WAIT_MS)
        page.get_by_role("button", name="Remove workload 2").click()
        page.get_by_role("group", name="workload 2").wait_for(state="detached", timeout=WAIT_MS)
        assert page.locator("[data-path='client.pci']").count() == 0
        page.get_by_label("kind in wire.kind").select_option("pci")
        page.locator("[data-path='client.pci']").wait_for(state="attached", timeout=WAIT_MS)
        assert page.get_by_label("TOML").input_value() == TEXT.replace('"ring"', '"pci"')


def test_what_cannot_be_saved_says_why_and_keeps_the_text(address):
    with page_of(address + "edit?kind=shipped&name=echo") as page:
        page.get_by_label("TOML").fill(TEXT + "# mine\n")
        page.get_by_label("Save as").fill("../echo.toml")
        page.get_by_role("button", name="Save").click()
        assert "not a name below" in page.get_by_role("alert").inner_text(timeout=WAIT_MS)
        assert page.get_by_label("TOML").input_value().endswith("# mine\n")


def test_scenarios_are_found_by_what_is_typed(address):
    with page_of(address + "edit") as page:
        page.get_by_label("Find").fill("stream")
        page.get_by_role("link", name="imix", exact=True).wait_for(state="hidden")
        assert page.get_by_role("link", name="stream", exact=True).is_visible()
