"""Warnings and notes of a run: a report opens with warnings alone and has its notes at the foot, and the terminal calls each by its kind."""

from dataclasses import replace

import pytest
from sample_runs import RUNS, execute
from terminal_views import printed

from windtunnel.measure.validity.excluded_windows import _lost, _slower, _stopped, _unlinked
from windtunnel.measure.validity.host_states import MIXED, NOT_KNOWN, _reason
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.results.run.side_by_side import side_by_side_document
from windtunnel.runs import notices
from windtunnel.runs.validity import Check, ExcludedWindow, Validity
from windtunnel.scenario.validity_keys import Validity as Limits

NOTE, WARNING, EXCLUDED = (
    "a time stamp costs much",
    "40% is in long calls. Set it higher",
    "2 windows excluded: 1 with steal, 1 while warming up; the first is window 3, steal on CPU 0 for 40% of the window",
)
VALIDITY = Validity(
    checks=[
        Check(name="accounting", state="warning", words=WARNING),
        Check(name="resolution", state="note", words=NOTE),
    ],
    excluded=[
        ExcludedWindow(engine="windtunnel", window=n, reasons=[reason])
        for n, reason in ((3, "steal on CPU 0 for 40% of the window"), (4, "warming up: the rate was not settled yet"))
    ],
)


@pytest.fixture
def plain(tmp_path):
    return execute(tmp_path / "run", *RUNS["both sides"])


@pytest.fixture
def run(plain):
    return replace(plain, record=plain.record.model_copy(update={"validity": VALIDITY}))


def test_a_report_opens_with_warnings_and_has_its_notes_at_the_foot(run, plain):
    head, _, rest = render(run_document(run)).partition("</header>")
    assert WARNING in head and NOTE not in head and EXCLUDED not in head
    notes = rest.partition('<section id="notes">')[2].partition("</section>")[0]
    assert NOTE in notes and EXCLUDED in notes and WARNING not in notes
    assert "<section" not in notes and "<h2>Notes" not in render(run_document(plain))


def test_a_terminal_calls_each_by_its_kind_and_warns_last(run):
    shown = printed(run_document(run))
    assert shown.index("ledger") < shown.index(f"note: {EXCLUDED}") < shown.index(f"note: {NOTE}")
    assert shown.index(f"note: {NOTE}") < shown.index(f"warning: {WARNING}") < shown.index("verdict:")


def test_runs_side_by_side_have_warnings_alone(run, plain):
    shown = printed(side_by_side_document([plain, run]))
    assert WARNING in shown and NOTE not in shown and "excluded" not in shown


def test_reasons_of_the_checks_have_kinds(run):
    """A kind that nobody knows would be "for another reason"."""
    settings, thread = Limits(), run.windows["windtunnel"][0].workers[0]
    reasons = [
        *_lost(thread.model_copy(update={"preempted_ns": 10**9, "steal_ns": 10**9}), "", 10**6, settings),
        *_stopped(10**9, 10**6, settings),
        *_slower(thread.model_copy(update={"chain_ticks": 100}), 1.0, settings),
        *_unlinked(run.windows["windtunnel"][0].ports[0].model_copy(update={"link_down_ns": 1}), 10**6),
        *(_reason(name, "one-l3") for name in ("two-l3s", MIXED, NOT_KNOWN)),
        "warming up: the rate was not settled yet",
    ]
    assert {notices._kind(reason) for reason in reasons} == set(notices.KINDS.values())


def test_windows_of_one_kind_are_counted_once(run):
    alike = [
        ExcludedWindow(engine="windtunnel", window=n, reasons=[f"steal on CPU {n} for 40% of the window"])
        for n in (1, 2)
    ]
    validity = run.record.validity.model_copy(update={"excluded": alike})
    words = notices._excluded_words(validity)
    assert words == "2 windows excluded, all with steal; the first is window 1, steal on CPU 1 for 40% of the window"
