"""Warnings and notes of a run: a report opens with warnings alone and has its notes at the foot, and the terminal calls each by its kind."""

from dataclasses import replace

import pytest
from sample_runs import RUNS, Page, execute
from terminal_views import printed

from windtunnel.runs.validity import Check, ExcludedWindow, Validity
from windtunnel.views.pages.page import render
from windtunnel.views.terminal.run import run_view
from windtunnel.views.terminal.side_by_side import side_by_side_view

NOTE, WARNING, EXCLUDED = (
    "a time stamp costs much",
    "40% is in long calls. Set it higher",
    "2 windows excluded: window 3, steal",
)
VALIDITY = Validity(
    checks=[
        Check(name="accounting", state="warning", words=WARNING),
        Check(name="resolution", state="note", words=NOTE),
    ],
    excluded=[ExcludedWindow(engine="windtunnel", window=n, reasons=["steal"]) for n in (3, 4)],
)
TITLE = "Notes on this run"


@pytest.fixture
def plain(tmp_path):
    return execute(tmp_path / "run", *RUNS["both sides"])


@pytest.fixture
def run(plain):
    return replace(plain, record=plain.record.model_copy(update={"validity": VALIDITY}))


def test_a_report_opens_with_warnings_and_has_its_notes_at_the_foot(run, plain):
    head, _, rest = render(run).partition("</header>")
    assert WARNING in head and NOTE not in head and EXCLUDED not in head
    notes = rest.partition(f"<h2>{TITLE}</h2>")[2].partition("</section>")[0]
    assert NOTE in notes and EXCLUDED in notes and WARNING not in notes
    assert rest.index("<h2>Drops</h2>") < rest.index(TITLE)
    assert TITLE not in Page(render(plain)).text


def test_a_terminal_calls_each_by_its_kind_and_warns_last(run):
    shown = printed(run_view(run))
    assert shown.index("ledger") < shown.index(f"note: {EXCLUDED}") < shown.index(f"note: {NOTE}")
    assert shown.index(f"note: {NOTE}") < shown.index(f"warning: {WARNING}") < shown.index("verdict:")


def test_runs_side_by_side_have_warnings_alone(run, plain):
    shown = printed(side_by_side_view([plain, run]))
    assert WARNING in shown and NOTE not in shown and "excluded" not in shown
