"""What a page knows of a process follows from its lines, whatever they are."""

import json

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python

from windtunnel.host.levels import Readings
from windtunnel.ui.watched import MOST_RUNS, WatchedProcess


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


def lines(number: int = 1) -> list[str]:
    """What an engine of the run says."""
    found = [json.loads(line.model_dump_json()) for line in sample.engine_lines(sample.plan())]
    return [json.dumps({"run": number, "of": "windtunnel"} | line) for line in found]


@pytest.fixture
def process():
    made = WatchedProcess(4711, 0)
    made.line(json.dumps({"live": 1, "kind": "study", "command": ["windtunnel", "study", "a.toml"]}))
    return made


def test_a_run_is_followed_from_its_lines(process):
    for line in [begins(), *lines()]:
        process.line(line)
    run = process.runs[1]
    assert process.trouble is None and process.kind == "study" and process.command == "windtunnel study a.toml"
    assert run.title == "echo" and run.stages and run.series.times_s
    assert len(run.series.times_s) == sum('"type": "window"' in line for line in lines())
    assert 0 <= run.share <= 1


def test_a_verdict_ends_it(process):
    for line in [begins(), *lines(), json.dumps({"run": 1, "ended": {"valid": False, "reasons": ["short"]}})]:
        process.line(line)
    assert process.done == 1 and process.runs[1].ended == {"valid": False, "reasons": ["short"]}


def test_the_next_run_takes_the_place_of_one_that_ended(process):
    for line in [begins(1), json.dumps({"run": 1, "ended": {"valid": True, "reasons": []}}), begins(2)]:
        process.line(line)
    assert list(process.runs) == [2]


def test_no_more_runs_are_kept_than_can_alternate(process):
    for number in range(1, 10):
        process.line(begins(number))
    assert len(process.runs) == MOST_RUNS


def test_a_run_that_has_measured_is_judged_as_at_its_end(process):
    for line in [begins(), *lines()]:
        process.line(line)
    run = process.runs[1]
    checks = run.judge(run.kept_windows(), Readings())
    assert {check.name for check in checks} >= {"windows", "emulated"}


def test_a_run_without_a_window_has_no_checks(process):
    process.line(begins())
    run = process.runs[1]
    assert run.judge(run.kept_windows(), Readings()) == []
    assert "once it begins" in run.time_left


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "3", '{"run": 1}', '{"run": "x"}', '{"run": 1, "begins": {}}', '{"run": 1, "begins": 3}']
)
def test_what_cannot_be_read_is_said(process, line):
    process.line(line)
    if line != '{"run": 1}':  # a line of a run whose beginning was not told is nobody's
        assert process.trouble and "cannot be read" in process.trouble


def test_a_line_of_another_version_is_said(process):
    process.line(begins())
    process.line(json.dumps({"run": 1, "of": "windtunnel", "type": "window", "new": 1}))
    assert process.trouble and "another version" in process.trouble


@given(st.recursive(st.none() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)))
def test_no_line_raises(document):
    process = WatchedProcess(1, 0)
    process.line(json.dumps(document))
    process.line(begins())
    process.line(json.dumps({"run": 1, "of": document, "type": document}))


@pytest.mark.parametrize(
    ("line", "words", "share"),
    [
        ({"done": 12, "of": 60, "unit": "runs", "left_s": 360.0}, "12 of 60 runs, about 6 min left", 0.2),
        ({"done": 3, "of": None, "unit": "trials", "left_s": None}, "3 trials", None),
        ({"done": 70, "of": 60, "unit": "runs", "left_s": 0.0}, "70 of 60 runs, about 0 s left", 1.0),
    ],
)
def test_how_far_a_command_is(process, line, words, share):
    process.line(json.dumps({"progress": line}))
    assert (process.how_far.words, process.how_far.share, process.trouble) == (words, share, None)


@pytest.mark.parametrize("line", [None, 3, {}, {"done": "x", "of": 1, "unit": "runs", "left_s": None}])
def test_what_is_no_progress_is_trouble(process, line):
    process.line(json.dumps({"progress": line}))
    assert process.trouble and process.how_far is None


ALPHA = {"name": "alpha", "state": "running", "about": "0001", "runs": 12, "utilisation": 0.93}


def test_what_a_fleet_does(process):
    process.line(json.dumps({"fleet": {"waiting": 8, "testbeds": [ALPHA]}}))
    assert (process.fleet.waiting, process.fleet.testbeds[0].about, process.trouble) == (8, "0001", None)


@pytest.mark.parametrize("line", [None, {"waiting": 1}, {"waiting": 1, "testbeds": [ALPHA | {"state": "odd"}]}])
def test_what_is_no_fleet_is_trouble(process, line):
    process.line(json.dumps({"fleet": line}))
    assert process.trouble and process.fleet is None
