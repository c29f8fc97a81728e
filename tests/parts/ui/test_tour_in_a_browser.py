"""All pages in Chromium, in the order of a user's work: watch a run, stop it, find it and another one, edit that and start it again."""

import forked
import pytest
from command_line import SCENARIO, environment
from ui_tools import PATIENCE_S, in_a_browser, pages_over, until_listed

pytestmark = [pytest.mark.slow, in_a_browser]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("tour")
    (made / "echo.toml").write_text(SCENARIO.format(duration="200ms").replace("1024", "512"))
    return made


@pytest.fixture(scope="module")
def address(directory):
    with pages_over(directory) as address:
        yield address


def begin(directory, out: str, behaviour: str) -> forked.Command:
    arguments = ["run", "echo.toml", "--out", f"runs/{out}", "-q", "--no-report"]
    return forked.Command(arguments, cwd=directory, env=environment(behaviour))


def find(page, text: str, runs: int) -> None:
    """A search with so many results: of a run that has just ended, too."""
    page.get_by_label("Find").fill(text)
    with page.expect_navigation():
        page.get_by_label("Find").press("Enter")
    until_listed(page, runs)


def test_a_run_is_watched_stopped_found_edited_and_started_again(page_of, address, directory):
    with begin(directory, "to its end", "run") as run:
        assert run.wait(PATIENCE_S) == 0
    page = page_of(address)
    with begin(directory, "stopped", "until_stopped") as run:
        page.get_by_role("region", name="Stages").wait_for()
        page.get_by_role("button", name="Stop").press("Enter")  # by keyboard
        assert run.wait(PATIENCE_S) == 130
    page.locator(".ended").get_by_text("interrupted").wait_for()
    assert page.locator(".ended .pill").first.inner_text() == "invalid"

    page.get_by_role("link", name="Runs", exact=True).click()
    until_listed(page, 2)
    find(page, "verdict = invalid", 1)
    find(page, "verdict = valid", 1)
    page.get_by_role("link", name="Edit L-App echo").click()
    page.get_by_role("button", name="Open and check").click()
    page.locator("#checked").get_by_text("valid scenario").wait_for()
    page.get_by_label("inflight in client.inflight").fill("64")
    page.get_by_label("inflight in client.inflight").press("Enter")
    page.locator("#checked").get_by_text("64 in flight at most").wait_for()
    page.get_by_label("Save as").fill("small.toml")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Now", exact=True).wait_for()
    assert "inflight = 64" in (directory / "small.toml").read_text()

    page.get_by_role("link", name="Runs", exact=True).click()
    find(page, "client.inflight = 64", 1)
