"""Reports of several runs in a directory share one file of plotly.js; a report alone holds it."""

import os
from pathlib import Path

import pytest
from comparing import made

from windtunnel.results.run.report import write_run_report, write_run_reports

SHARED_BYTES = 150_000


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    return [made(tmp_path / "runs" / name) for name in ("one", "two")]


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    return made(tmp_path / "elsewhere" / "one")


def test_the_script_lies_once_beside_the_runs(runs):
    pages = list(write_run_reports(runs))
    (script,) = runs[0].parent.glob("plotly-*.js")
    assert pages == [run / "report.html" for run in runs]
    for page in pages:
        text = page.read_text()
        assert f'<script src="../{script.name}"></script>' in text and len(text) < SHARED_BYTES
    before = script.stat().st_mtime_ns
    assert list(write_run_reports(runs)) == pages and script.stat().st_mtime_ns == before


@pytest.mark.parametrize("is_link", [False, True])
def test_a_script_that_somebody_sent_beside_the_runs_does_not_stay(runs, tmp_path, is_link):
    list(write_run_reports(runs))
    (script,) = runs[0].parent.glob("plotly-*.js")
    own, sent = script.read_bytes(), tmp_path / "sent.js"
    sent.write_bytes(own if is_link else b"alert(1)")
    script.unlink()
    script.symlink_to(sent) if is_link else script.write_bytes(sent.read_bytes())
    list(write_run_reports(runs))
    assert script.read_bytes() == own and not script.is_symlink()


@pytest.mark.parametrize("mode", [0o1777, 0o777])
def test_where_others_may_write_each_report_holds_it_all(runs, mode):
    """They could put another script in its place later."""
    runs[0].parent.chmod(mode)
    pages = list(write_run_reports(runs))
    assert not list(runs[0].parent.glob("plotly-*.js"))
    assert all("<script src=" not in page.read_text() for page in pages)


@pytest.mark.parametrize("change", [lambda file: file.chmod(0o666), lambda file: os.link(file, file.with_name("also"))])
def test_a_script_that_others_may_change_does_not_stay(runs, change):
    list(write_run_reports(runs))
    (script,) = runs[0].parent.glob("plotly-*.js")
    change(script)
    before = script.stat().st_ino
    list(write_run_reports(runs))
    after = script.stat()
    assert after.st_ino != before and after.st_nlink == 1 and not after.st_mode & 0o022


def test_a_run_alone_holds_it_all(elsewhere):
    (page,) = write_run_reports([elsewhere])
    assert "<script src=" not in page.read_text() and len(page.read_text()) > SHARED_BYTES
    assert not list(elsewhere.parent.glob("*.js"))
    assert page.read_text() == write_run_report(elsewhere).read_text()


def test_runs_of_two_directories_have_nothing_in_common(runs, elsewhere, tmp_path):
    list(write_run_reports([runs[0], elsewhere]))
    assert not list(tmp_path.glob("**/*.js"))


def test_only_a_page_with_a_script_beside_it_may_load_one(runs):
    list(write_run_reports(runs))
    assert "script-src 'unsafe-inline' 'self' file:;" in (runs[0] / "report.html").read_text()
    assert "script-src 'unsafe-inline';" in write_run_report(runs[0]).read_text()


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
