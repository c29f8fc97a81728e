"""The order of the two runs of a pair, and how often they alternate."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.wires import known
from windtunnel.errors import UserError
from windtunnel.measure.compare.pair import Pair, change_after

SCENARIOS, RUNS = ("scenario of A", "scenario of B"), (Path("a/01"), Path("b/01"))


class Noting:
    def __init__(self):
        self.jobs = []

    def execute_job(self, job, interrupts):
        self.jobs.append(job)
        return [f"outcome of {directory}" for directory in job.directories]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("change", ["window", "run"])
def test_the_first_side_of_the_order_has_the_first_turn(order, change):
    executor, said = Noting(), []
    sides = list(Pair(SCENARIOS, RUNS, order).run(change, executor, Interrupts(), said.append))
    assert sides == [(side, f"outcome of {RUNS[side]}") for side in order]
    if change == "window":
        (job,) = executor.jobs
        assert (job.scenarios, job.directories, job.first) == (SCENARIOS, RUNS, order[0])
        assert said == ["A and B run"]
    else:
        assert [job.directories for job in executor.jobs] == [(RUNS[side],) for side in order]
        assert said == [f"{'AB'[side]} runs" for side in order]


def over(*wires):
    return [SimpleNamespace(wire=SimpleNamespace(kind=wire), descriptor=known()[wire]) for wire in wires]


@pytest.mark.parametrize(
    ("wires", "asked", "cabled", "change"),
    [
        (("ring", "ring"), None, False, "window"),
        (("ring", "ring"), "window", False, "window"),
        (("ring", "ring"), "run", False, "run"),
        (("ring", "tap"), None, False, "run"),
        (("ring", "ring"), None, True, "run"),
    ],
)
def test_runs_alternate_by_window_where_they_can(wires, asked, cabled, change):
    assert change_after(over(*wires), asked, cabled) == change


@pytest.mark.parametrize(
    ("wires", "cabled", "what"),
    [(("ring", "ring"), True, "on two cabled testbeds"), (("ring", "tap"), False, 'cannot use the wire "tap"')],
)
def test_by_window_is_refused_where_they_cannot(wires, cabled, what):
    with pytest.raises(UserError, match=what):
        change_after(over(*wires), "window", cabled)
