"""The order of the two runs of a pair."""

from pathlib import Path

import pytest

from windtunnel.engine.interrupts import Interrupts
from windtunnel.measure.compare.pair import Pair

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
