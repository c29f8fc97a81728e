"""Reports that share their plotly.js, opened from the disk in Chromium."""

import pytest
from comparing import made
from ui_tools import in_a_browser

from windtunnel.results.run.report import write_run_reports

pytestmark = [pytest.mark.slow, in_a_browser]


def test_a_browser_draws_the_plots_and_says_so_where_the_script_is_gone(page_of, tmp_path):
    report, _ = write_run_reports([made(tmp_path / "runs" / name) for name in ("one", "two")])
    page_of(report.as_uri()).locator(".js-plotly-plot .main-svg").first.wait_for()
    (script,) = (tmp_path / "runs").glob("plotly-*.js")
    script.unlink()
    page = page_of(report.as_uri(), refused="ERR_FILE_NOT_FOUND")
    page.get_by_text(f"The plots cannot be drawn: ../{script.name} is not there").first.wait_for()
    assert page.locator(".js-plotly-plot").count() == 0
