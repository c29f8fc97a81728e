"""What is told of the testbeds: their states, runs, and the share of their time in which they had one."""

from pathlib import Path

import pytest

from windtunnel.measure.executor import Job
from windtunnel.parts.fleet.utilisation import Utilisation


class Told:
    """A clock that stands, and the last that was told."""

    def __init__(self):
        self.now, self.count, self.waiting, self.rows = 100.0, 0, None, {}
        self.of = Utilisation(self.tell, lambda: self.now)

    def tell(self, about):
        self.count += 1
        self.waiting, self.rows = about["waiting"], {row["name"]: row for row in about["testbeds"]}

    def report(self, waiting=0):
        self.of.report(waiting)
        return self.rows


@pytest.fixture
def told():
    told = Told()
    told.of.joined("alpha")
    return told


JOB = Job((), (Path("out/runs/0007"), Path("out/runs/0008")))


def test_a_testbed_at_work(told):
    told.now += 6
    told.of.begins("alpha", JOB)
    told.now += 2
    (row,) = told.report(5).values()
    assert row == {"name": "alpha", "state": "running", "about": "0007", "runs": 0, "utilisation": 0.25}
    assert told.waiting == 5
    told.of.ended("alpha", 2)
    told.now += 2
    assert told.report()["alpha"] == {"name": "alpha", "state": "free", "about": "", "runs": 2, "utilisation": 0.2}


def test_time_in_which_a_testbed_is_lost_counts_for_nothing(told):
    told.of.begins("alpha", JOB)
    told.now += 3
    told.of.lost("alpha", "silent for 30 s")
    told.now += 1000
    row = told.report()["alpha"]
    assert (row["state"], row["about"], row["runs"], row["utilisation"]) == ("lost", "silent for 30 s", 0, 1.0)
    told.of.joined("alpha")
    told.now += 3
    assert (told.report()["alpha"]["state"], told.report()["alpha"]["utilisation"]) == ("free", 0.5)


def test_it_is_told_when_something_changes_and_once_a_second(told):
    told.report()
    told.report()
    assert told.count == 1
    told.now += 1
    told.report()
    assert told.count == 2
    told.of.begins("alpha", JOB)
    told.report()
    assert told.count == 3
