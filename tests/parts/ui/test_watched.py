"""What a page knows of a process follows from its lines, whatever they are."""

import json
from functools import cache
from types import SimpleNamespace

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python

from windtunnel.host.levels import Readings
from windtunnel.parts.ui.guard import Allowed
from windtunnel.parts.ui.templates import Pages
from windtunnel.parts.ui.watched import MOST_RUNS, WatchedProcess
from windtunnel.results.document import Column, Table
from windtunnel.results.status import Status, parsers

PAGES = Pages(Allowed("loopback", "localhost"))


@cache
def begins(number: int = 1) -> str:
    about = {
        "title": "echo",
        "question": "how fast?",
        "notes": [],
        "scenario": {"validity": {}},
        "names": ["windtunnel"],
        "plans": [to_jsonable_python(sample.plan())],
        "directory": "/runs/echo",
    }
    return json.dumps({"run": number, "begins": about})


@cache
def lines() -> list[str]:
    """What an engine of the run says."""
    said = [json.loads(line.model_dump_json()) for line in sample.engine_lines(sample.plan())]
    return [json.dumps({"run": 1, "of": "windtunnel"} | line) for line in said]


@pytest.fixture
def process():
    made = WatchedProcess(4711, 0)
    made.line(json.dumps({"live": 1, "kind": "study", "command": ["windtunnel", "study", "a.toml"]}))
    return made


def tell(process, *told) -> None:
    for line in told:
        process.line(line if isinstance(line, str) else json.dumps(line))


def test_a_run_is_followed_from_its_lines_to_its_verdict(process):
    tell(process, begins(), *lines())
    run = process.runs[1]
    assert process.trouble is None and process.kind == "study" and process.command == "windtunnel study a.toml"
    assert run.title == "echo" and run.stages and run.series.times_s
    assert len(run.series.times_s) == sum('"type": "window"' in line for line in lines())
    assert 0 <= run.share <= 1
    checks = run.judge(run.kept_windows(), Readings())  # as at its end
    assert {check.name for check in checks} >= {"windows", "emulated"}
    tell(process, {"run": 1, "ended": {"valid": False, "reasons": ["short"]}})
    assert process.done == 1 and process.runs[1].ended == {"valid": False, "reasons": ["short"]}


def test_the_next_run_takes_the_place_of_one_that_ended(process):
    tell(process, begins(1), {"run": 1, "ended": {"valid": True, "reasons": []}}, begins(2))
    assert list(process.runs) == [2]


def test_no_more_runs_are_kept_than_can_alternate(process):
    tell(process, *map(begins, range(1, 10)))
    assert len(process.runs) == MOST_RUNS


def test_a_run_without_a_window_has_no_checks(process):
    process.line(begins())
    run = process.runs[1]
    assert run.judge(run.kept_windows(), Readings()) == []
    assert "once it begins" in run.time_left


@pytest.mark.parametrize(
    "line",
    [
        *("", "{", "[]", "3", '{"run": "x"}', '{"run": 1, "begins": {}}', '{"run": 1, "begins": 3}'),
        *({"progress": bad} for bad in (None, 3, {}, {"done": "x", "of": 1, "unit": "runs", "left_s": None})),
    ],
)
def test_what_cannot_be_read_is_said(process, line):
    tell(process, line)
    assert process.trouble and "cannot be parsed" in process.trouble
    assert (process.command_progress, process.statuses) == (None, {})


def test_a_line_of_a_run_whose_beginning_was_not_told_is_nobodys(process):
    tell(process, {"run": 1})
    assert process.trouble is None


def test_a_line_of_another_version_is_said(process):
    tell(process, begins(), {"run": 1, "of": "windtunnel", "type": "window", "new": 1})
    assert process.trouble and "another version" in process.trouble


@given(st.recursive(st.none() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)))
def test_no_line_raises(document):
    tell(WatchedProcess(1, 0), json.dumps(document), begins(), {"run": 1, "of": document, "type": document})


@pytest.mark.parametrize(
    ("line", "words", "share"),
    [
        ({"done": 12, "of": 60, "unit": "runs", "left_s": 360.0}, "12 of 60 runs, about 6 min left", 0.2),
        ({"done": 3, "of": None, "unit": "trials", "left_s": None}, "3 trials", None),
        ({"done": 70, "of": 60, "unit": "runs", "left_s": 0.0}, "70 of 60 runs, about 0 s left", 1.0),
    ],
)
def test_how_far_a_command_is(process, line, words, share):
    tell(process, {"progress": line})
    assert (process.command_progress.text, process.command_progress.share, process.trouble) == (words, share, None)
    assert words in PAGES.filled("command_progress.html", process=process)


def test_whatever_a_process_has_is_drawn(process, monkeypatch):
    monkeypatch.setitem(parsers(), "lab", lambda about: Status("Lab", "two wait", Table([Column("bench", ["x1"])]), ""))
    tell(process, begins(), *lines(), {"progress": {"done": 3, "of": 9, "unit": "trials", "left_s": None}}, {"lab": 2})
    run = process.runs[1]
    run.checks = run.judge(run.kept_windows(), Readings())
    assert run.checks and process.trouble is None
    watch = SimpleNamespace(processes={4711: process}, started=SimpleNamespace(failed=[]), ended=[process])
    page = PAGES.filled("processes.html", watch=watch)
    for text in ("3 of 9 trials", "two wait", "x1", "how fast?", *(check.name for check in run.checks)):
        assert text in page


def test_the_latest_status_of_each_name_counts(process, monkeypatch):
    for name in ("lab", "rack"):
        monkeypatch.setitem(parsers(), name, lambda about: Status("", f"{about} wait", Table([]), ""))
    tell(process, {"lab": 3}, {"rack": 5}, {"lab": 2})
    captions = {name: shown.caption for name, shown in process.statuses.items()}
    assert (captions, process.trouble) == ({"lab": "2 wait", "rack": "5 wait"}, None)


def test_a_status_that_is_none_is_said(process, monkeypatch):
    monkeypatch.setitem(parsers(), "lab", int)
    tell(process, {"lab": "many"})
    assert process.trouble and "cannot be parsed" in process.trouble
