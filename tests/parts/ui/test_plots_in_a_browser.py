"""A report, opened from the disk in Chromium."""

import pytest
from comparing import made
from ui_tools import in_a_browser

from windtunnel.results.run.report import write_run_report

pytestmark = [pytest.mark.slow, in_a_browser]


def test_a_browser_draws_the_plots(page_of, tmp_path):
    page = page_of(write_run_report(made(tmp_path / "run")).as_uri())
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
