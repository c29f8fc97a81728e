"""Who preempted: two looks at /proc, outside the windows, and their words."""

from pathlib import Path

import pytest
import sample_lines as sample

from windtunnel.engine.lines import Ready, Result
from windtunnel.engine.windows import Window
from windtunnel.host import other_programs
from windtunnel.host.other_programs import Process
from windtunnel.measure.validity import Preempting, preempting
from windtunnel.runs.record import EngineRecord

LINES = sample.engine_lines(sample.plan())
ENGINES = [EngineRecord(name="windtunnel", plan=sample.plan())]
CPU = ENGINES[0].plan.workers[0].cpu


@pytest.fixture
def looks(monkeypatch):
    """What /proc showed, one look after the other; the clock goes on by 10 s with each."""
    times = iter(range(0, 100, 10))
    shown = []
    monkeypatch.setattr(preempting.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(other_programs, "take_snapshot", lambda: shown.pop(0))
    monkeypatch.setattr(other_programs.os, "sysconf", lambda name: 100)
    return shown


def test_programs_are_named_with_their_shares_the_three_with_the_most(looks):
    names = {"stress-ng": 110, "kworker/1:2": 12, "sshd": 11, "cron": 10, "quiet": 4}
    looks += [{}, {(n, 1): Process(name, 1, ticks, CPU) for n, (name, ticks) in enumerate(names.items())}]
    listener = Preempting(Path("windtunnel-engine"))
    for line in LINES:
        listener.line("windtunnel", line, "")
    assert looks == []
    assert listener.programs_text(ENGINES) == "stress-ng 11%, kworker/1:2 1%, sshd 1%"


def test_it_looks_before_the_first_window_and_after_the_last(looks):
    looks += [{}, {}]
    listener, seen = Preempting(Path("windtunnel-engine")), []
    for line in LINES:
        had = len(looks)
        listener.line("windtunnel", line, "")
        if len(looks) < had:
            seen.append(type(line))
    assert seen == [Ready, Result]
    kinds = [type(line) for line in LINES]
    assert kinds.index(Ready) < kinds.index(Window) and kinds[-1] is Result


def test_nothing_is_said_of_a_run_without_an_end_or_on_a_quiet_host(looks):
    looks += [{}, {}]
    listener = Preempting(Path("windtunnel-engine"))
    for line in LINES[:-1]:
        listener.line("windtunnel", line, "")
    assert listener.programs_text(ENGINES) is None
    listener.line("windtunnel", LINES[-1], "")
    assert listener.programs_text(ENGINES) is None
