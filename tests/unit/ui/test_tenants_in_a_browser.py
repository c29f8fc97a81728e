"""The tenants of a share daemon in Chromium: seen in Now, and their weights set by a slider."""

import os

import pytest
from share_api import daemon
from ui_tools import CHROMIUM, check_accessibility, free_port, page_of, served

from windtunnel.live.process import ANNOUNCEMENT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
WAIT_MS = 60_000


@pytest.fixture
def address(tmp_path, monkeypatch):
    """This process is the daemon."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    with served(tmp_path, free_port()) as address:
        yield address


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_tenants_are_seen_and_weighted(address, tmp_path, width, scheme):
    socket = tmp_path / "share.sock"
    with (
        daemon(socket) as asked,
        ANNOUNCEMENT.command("share serve", at_once=True, api=os.fspath(socket)),
        page_of(address, viewport={"width": width, "height": 800}, color_scheme=scheme) as page,
    ):
        row = page.get_by_role("region", name="Tenants").locator("tbody tr")
        row.wait_for(timeout=WAIT_MS)
        assert row.inner_text().split() == ["web", "ls", "128", "0.50", "1", "52.0", "µs", "40.0", "µs"]
        assert "128 more" in page.locator("main").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        check_accessibility(page)
        slider = page.get_by_role("slider", name="web")
        slider.press("ArrowRight")  # by keyboard
        page.locator("output", has_text="129").wait_for(timeout=WAIT_MS)
        while not asked:
            page.wait_for_timeout(50)
        assert asked == [{"web": {"weight": 129}}]


def test_a_weight_that_the_daemon_refuses_says_why(address, tmp_path):
    socket = tmp_path / "share.sock"
    with (
        daemon(socket),
        ANNOUNCEMENT.command("share serve", at_once=True, api=os.fspath(socket)),
        page_of(address, refused="409") as page,
    ):
        page.get_by_role("slider", name="web").press("End", timeout=WAIT_MS)  # 512
        page.get_by_role("alert").get_by_text("no room for 300").wait_for(timeout=WAIT_MS)
