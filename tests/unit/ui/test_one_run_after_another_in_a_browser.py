"""All pages in Chromium, in the order of a user's work: watch a run to its verdict, stop another one, find both, compare two, edit, start again."""

import subprocess

import pytest
from command_line import SCENARIO, command, environment
from ui_tools import CHROMIUM, check_accessibility, free_port, page_of, served, until_listed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fake_engine,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
WAIT_MS = 60_000


@pytest.fixture
def address(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="2s").replace("1024", "512"))
    with served(tmp_path, free_port()) as address:
        yield address


def begin(tmp_path, out: str, behaviour: str) -> subprocess.Popen:
    told = command("run", "echo.toml", "--out", f"runs/{out}", "-q", "--no-report")
    return subprocess.Popen(told, cwd=tmp_path, env=environment(behaviour, RUNTIME_DIRECTORY=str(tmp_path)))


def ended(page, number: int):
    """The verdicts in Now, once as many runs have ended."""
    page.locator(".ended .pill").nth(number - 1).wait_for(timeout=WAIT_MS)
    return page.locator(".ended .pill").all_inner_texts()


def find(page, text: str, runs: int) -> None:
    """A search with so many results: of a run that has just ended, too."""
    page.get_by_label("Find").fill(text)
    with page.expect_navigation():
        page.get_by_label("Find").press("Enter")
    until_listed(page, runs)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_is_watched_stopped_found_compared_edited_and_started_again(address, tmp_path, scheme):
    with page_of(address, color_scheme=scheme) as page:
        with begin(tmp_path, "watched", "run") as run:
            page.get_by_role("region", name="Stages").wait_for(timeout=WAIT_MS)
            check_accessibility(page)
            assert run.wait(60) == 0
        assert ended(page, 1) == ["valid"]

        with begin(tmp_path, "stopped", "until_stopped") as run:
            page.get_by_role("button", name="Stop").click(timeout=WAIT_MS)
            assert run.wait(60) == 130
        assert ended(page, 2) == ["invalid", "valid"]
        page.locator(".ended").get_by_text("interrupted").wait_for()

        with begin(tmp_path, "second", "run") as run:
            assert run.wait(60) == 0
        ended(page, 3)
        check_accessibility(page)

        page.get_by_role("link", name="Runs", exact=True).click()
        until_listed(page, 3)
        check_accessibility(page)
        find(page, "verdict = invalid", 1)
        find(page, "verdict = valid", 2)
        for name in ("watched", "second"):
            page.get_by_label(f"Compare L-App echo, {name}/run.json").check()
        page.get_by_role("button", name="Compare two").click()
        page.get_by_role("heading", name="B against A").wait_for(timeout=WAIT_MS)

        page.go_back()
        page.get_by_role("link", name="Edit L-App echo").first.click()
        field = page.get_by_label("inflight in client.inflight")
        field.fill("64")
        field.press("Enter")
        page.locator("#checked").get_by_text("64 in flight at most").wait_for(timeout=WAIT_MS)
        check_accessibility(page)
        page.get_by_label("Save as").fill("small.toml")
        page.get_by_role("button", name="Start").click()
        assert len(ended(page, 4)) == 4
        assert "inflight = 64" in (tmp_path / "small.toml").read_text()

        page.get_by_role("link", name="Runs", exact=True).click()
        until_listed(page, 4)
        find(page, "client.inflight = 64", 1)
