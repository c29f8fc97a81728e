"""The page Edit in Chromium: a scenario is found, changed in text and form, and saved. Starting it is a matter of test_tour_in_a_browser."""

import pytest
from command_line import SCENARIO
from ui_tools import check_looks, in_a_browser, pages_over

pytestmark = [pytest.mark.slow, in_a_browser]
TEXT = SCENARIO.format(duration="300ms")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("scenarios")
    (made / "echo.toml").write_text(TEXT)
    return made


@pytest.fixture(scope="module")
def address(directory):
    with pages_over(directory) as address:
        yield address + "edit"


def says(page, words: str):
    return page.locator("#checked").get_by_text(words).wait_for()


def test_a_scenario_is_found_edited_and_saved(page_of, address, directory):
    page = page_of(address)
    check_looks(page)
    imix, memif = (page.get_by_role("link", name=name, exact=True) for name in ("imix", "two-processes"))
    page.get_by_label("Wire").select_option("memif")
    imix.wait_for(state="hidden")
    memif.wait_for()
    page.get_by_label("Find").fill("no such scenario")
    page.get_by_text("No scenario matches.", exact=True).wait_for()
    page.get_by_label("Find").fill("")
    page.get_by_label("Wire").select_option("any")
    imix.wait_for()
    page.get_by_label("Find").fill("echo.t")
    page.get_by_role("link", name="imix", exact=True).wait_for(state="hidden")
    page.get_by_role("link", name="echo.toml", exact=True).click()
    says(page, "valid scenario")
    assert page.get_by_role("group", name="Placement").get_by_text("app_rx:0").count() == 2
    check_looks(page)
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
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/edit?kind=file&name=small.toml")
    assert (directory / "small.toml").read_text() == TEXT.replace("1024", "64")
    assert (directory / "echo.toml").read_text() == TEXT


def test_tables_are_added_and_removed_and_another_wire_has_other_keys(page_of, address):
    page = page_of(address + "?kind=file&name=echo.toml")
    page.get_by_role("button", name="Add to workload", exact=True).click()
    page.get_by_role("group", name="workload 2").wait_for()
    page.get_by_role("button", name="Remove workload 2").click()
    page.get_by_role("group", name="workload 2").wait_for(state="detached")
    assert page.locator("[data-path='client.pci']").count() == 0
    page.get_by_label("kind in wire.kind").select_option("pci")
    page.locator("[data-path='client.pci']").wait_for(state="attached")
    assert page.get_by_label("TOML").input_value() == TEXT.replace('"ring"', '"pci"')
