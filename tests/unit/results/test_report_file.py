"""The file of a report: it goes into the run that was read, and loads nothing."""

import pytest
from comparing import made

from windtunnel.results.run.report import write_run_report


@pytest.mark.parametrize("by_link", [False, True])
def test_a_report_loads_nothing_that_others_may_write_beside_it(tmp_path, by_link):
    run, name = made(tmp_path / "scratch" / "run"), tmp_path / "runs" / "run"
    if by_link:
        name.parent.mkdir()
        name.symlink_to(run)
    run.parent.chmod(0o1777)
    text = write_run_report(name if by_link else run).read_text()
    assert "<script src=" not in text and "script-src 'unsafe-inline';" in text
    assert not list(tmp_path.glob("**/*.js"))


def test_a_report_goes_into_the_directory_that_was_read(tmp_path, monkeypatch):
    run = made(tmp_path / "run")
    victim = tmp_path / "victim"
    victim.mkdir()

    def render_and_swap(*given):
        run.rename(tmp_path / "moved")
        run.symlink_to(victim)
        return "page"

    monkeypatch.setattr("windtunnel.results.run.report.render", render_and_swap)
    assert write_run_report(run) == run / "report.html"
    assert not list(victim.iterdir()) and (tmp_path / "moved" / "report.html").read_text() == "page"
