"""Two commands in turn: simulated observations in the place of real ones."""

from dataclasses import dataclass

import pytest
from observed_samples import TSC_HZ, busy_windows

from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import NAME
from windtunnel.measure.compare.comparison_record import Difference
from windtunnel.parts.attach import in_turn
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.processes import Application
from windtunnel.parts.attach.session import Observation

COMMANDS = {"a": ["old/broker", "40"], "b": ["new/broker", "44"]}


@dataclass
class Observing:
    """Takes the place of `observe`: a command's second word is what a packet takes in it, in ticks."""

    interrupted_at: int = 0
    """Which of the observations the user stops; 0: none."""
    made: int = 0

    def __call__(self, command, request, out, listener):
        self.made += 1
        application = Application(pid=77, command=tuple(command), release="22.11", prefix="rte", runtime=None)
        writer = ObservedRunWriter(out, application, "22.11")
        for window in busy_windows({32: 1.0}, burst=320, packet=int(command[1]), count=6):
            writer.append(window)
        interrupted = self.made == self.interrupted_at
        return Observation(writer.finish(["stopped"] if interrupted else [], TSC_HZ), interrupted, writer.held)


def compare(monkeypatch, directory, commands=COMMANDS, **changes):
    monkeypatch.setattr(in_turn, "observe", Observing(**changes))
    announced = []
    comparison = in_turn.compare_in_turn(commands, 6, None, directory, announced.append, None)
    return comparison, announced


def test_the_dearer_build_is_slower_and_the_order_varies(monkeypatch, tmp_path):
    comparison, announced = compare(monkeypatch, tmp_path / "runs")
    assert [judged.verdict for point in comparison.points for judged in point.judged] == ["slower"]
    assert comparison.paired_runs.model_dump(include={"pairs", "stopped", "change"}) == {
        "pairs": 6,
        "stopped": "all run",
        "change": "run",
    }
    assert [point.differences for point in comparison.points] == [
        [Difference(key="command", a="old/broker 40", b="new/broker 44")]
    ]
    assert (tmp_path / "runs" / NAME).is_file()
    assert {path.name for path in (tmp_path / "runs/b").iterdir()} == {f"0{n}" for n in range(1, 7)}
    firsts = {line.rpartition(": ")[2] for line in announced[::2]}
    assert firsts == {"A runs", "B runs"}, "each is first in some pair"


def test_what_was_complete_is_compared_if_the_user_stops(monkeypatch, tmp_path):
    comparison, announced = compare(monkeypatch, tmp_path / "runs", interrupted_at=8)
    assert len(announced) == 8
    assert (comparison.paired_runs.pairs, comparison.paired_runs.stopped) == (3, "interrupted")


def test_one_side_alone_is_no_comparison(monkeypatch, tmp_path):
    with pytest.raises(UserError, match="stopped before both had run"):
        compare(monkeypatch, tmp_path / "runs", interrupted_at=1)


def test_programs_of_unlike_names_are_refused_after_the_first_pair(monkeypatch, tmp_path):
    with pytest.raises(UserError, match="the program of A is broker, and that of B is l3fwd"):
        compare(monkeypatch, tmp_path / "runs", commands=COMMANDS | {"b": ["l3fwd", "40"]})
    assert not (tmp_path / "runs/a/02").exists()
