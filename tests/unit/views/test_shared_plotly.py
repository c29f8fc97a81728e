"""Reports of several runs in a directory share one file of plotly.js; a report alone holds it."""

import shutil
from pathlib import Path

import pytest
from ui_tools import CHROMIUM

from windtunnel.views.pages import write, write_several

RECORDS = Path(__file__).resolve().parents[2] / "support" / "records" / "0.1.0"
SHARED_BYTES = 150_000


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    return [Path(shutil.copytree(RECORDS / name, tmp_path / "runs" / name)) for name in ("echo", "lossy")]


def drawn(page: Path) -> tuple[int, str]:
    """Plots that a browser has drawn of a file, and the text in the place of the first one."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as browser:
        shown = browser.new_page()
        shown.goto(page.as_uri())
        shown.wait_for_function("window.Plotly || document.body.innerText.includes('cannot be drawn')")
        shown.wait_for_timeout(500)
        return shown.locator(".js-plotly-plot .main-svg").count(), shown.inner_text("main")


def test_the_script_lies_once_beside_the_runs(runs):
    pages = list(write_several(runs))
    (script,) = runs[0].parent.glob("plotly-*.js")
    assert pages == [run / "report.html" for run in runs]
    for page in pages:
        text = page.read_text()
        assert f'<script src="../{script.name}"></script>' in text and len(text) < SHARED_BYTES
    before = script.stat().st_mtime_ns
    assert list(write_several(runs)) == pages and script.stat().st_mtime_ns == before


def test_a_run_alone_holds_it_all(runs, tmp_path):
    elsewhere = shutil.copytree(runs[0], tmp_path / "elsewhere" / "echo")
    (page,) = write_several([elsewhere])
    assert "<script src=" not in page.read_text() and len(page.read_text()) > SHARED_BYTES
    assert not list(elsewhere.parent.glob("*.js"))
    assert page.read_text() == write(elsewhere).read_text()


def test_runs_of_two_directories_have_nothing_in_common(runs, tmp_path):
    elsewhere = shutil.copytree(runs[0], tmp_path / "elsewhere" / "echo")
    list(write_several([runs[0], elsewhere]))
    assert not list(tmp_path.glob("**/*.js"))


def test_only_a_page_with_a_script_beside_it_may_load_one(runs, tmp_path):
    list(write_several(runs))
    assert "script-src 'unsafe-inline' 'self' file:;" in (runs[0] / "report.html").read_text()
    assert "script-src 'unsafe-inline';" in write(runs[0]).read_text()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium")
def test_a_browser_draws_the_plots_and_says_so_where_the_script_is_gone(runs):
    (page, _) = write_several(runs)
    plots, _ = drawn(page)
    assert plots > 0
    (script,) = runs[0].parent.glob("plotly-*.js")
    script.unlink()
    plots, text = drawn(page)
    assert plots == 0 and f"The plots cannot be drawn: ../{script.name} is not there" in text
