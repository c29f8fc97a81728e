"""The page Now in Chromium: a live run is watched to its verdict, and another one is stopped."""

import subprocess

import pytest
from command_line import SCENARIO, command, environment
from ui_tools import CHROMIUM, check_accessibility, free_port, page_of, served

from windtunnel.live.process import ANNOUNCEMENT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.fake_engine,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
WAIT_MS = 60_000


@pytest.fixture
def address(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="3s").replace("L-App echo", "<b>echo</b> & co"))
    with served(tmp_path, free_port()) as address:
        yield address


def begin(tmp_path, out: str, behaviour: str = "run") -> subprocess.Popen:
    variables = environment(behaviour, RUNTIME_DIRECTORY=str(tmp_path))
    told = command("run", "echo.toml", "--out", out, "-q", "--no-report")
    return subprocess.Popen(told, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_a_run_is_watched_to_its_verdict(address, tmp_path, width, scheme):
    with page_of(address, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        page.get_by_role("heading", name="Nothing runs").wait_for(timeout=WAIT_MS)
        with begin(tmp_path, "first") as run:
            page.get_by_role("heading", name="<b>echo</b> & co").wait_for(timeout=WAIT_MS)  # escaped, and no element
            page.get_by_role("region", name="Stages").get_by_text("server app_rx").wait_for(timeout=WAIT_MS)
            page.locator(".chart canvas").first.wait_for(timeout=WAIT_MS)
            page.locator(".checks li").first.wait_for(timeout=WAIT_MS)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("[...document.querySelectorAll('button, .scroll')].every((of) => of.tabIndex === 0)")
            run.communicate(timeout=60)
        page.get_by_role("heading", name="Ended", exact=True).wait_for(timeout=WAIT_MS)
        verdict = "valid" if run.returncode == 0 else "invalid"
        assert page.locator(".ended .pill").inner_text() == verdict
        assert str(tmp_path / "first") in page.locator(".ended").inner_text()


def test_a_run_is_stopped_as_by_ctrl_c(address, tmp_path):
    with page_of(address) as page, begin(tmp_path, "stopped", "until_stopped") as run:
        page.get_by_role("button", name="Stop").press("Enter", timeout=WAIT_MS)  # by keyboard
        run.communicate(timeout=60)
        assert run.returncode == 130
        page.get_by_role("heading", name="Ended", exact=True).wait_for(timeout=WAIT_MS)
    assert (tmp_path / "stopped" / "run.json").exists()


def test_a_fleet_is_seen_at_work(address, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    at_work = {"name": "<i>alpha</i>", "state": "running", "about": "0012", "runs": 11, "utilisation": 0.934}
    lost = {"name": "beta", "state": "lost", "about": "silent for 30 s", "runs": 9, "utilisation": 0.5}
    with ANNOUNCEMENT.command("study", at_once=True), page_of(address) as page:
        ANNOUNCEMENT.testbeds(40, [at_work, lost])
        rows = page.get_by_role("region", name="Testbeds").locator("tbody tr")
        rows.first.wait_for(timeout=WAIT_MS)
        assert [row.split("\t") for row in rows.all_inner_texts()] == [
            ["<i>alpha</i>", "running: 0012", "11", "93%"],
            ["beta", "lost: silent for 30 s", "9", "50%"],
        ]
        check_accessibility(page)
        ANNOUNCEMENT.testbeds(39, [at_work | {"about": "0013"}])
        page.get_by_text("running: 0013").wait_for(timeout=WAIT_MS)
        assert "39 waiting for one" in page.locator("main").inner_text()


def test_a_page_needs_nothing_from_elsewhere(address):
    with page_of(address) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.get_by_role("heading", name="Nothing runs").wait_for(timeout=WAIT_MS)
        assert asked and all(url.startswith((address, "data:")) for url in asked)
