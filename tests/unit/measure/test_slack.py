"""How long workers wait: in loops in which none of their stages moved anything."""

import pytest
from sample_windows import stage, window, worker

from windtunnel.measure.validity import slacks, slowest


def waits(*stages_of_window, timed=1000):
    """The slack of one worker, a window each."""
    windows = [window(of, [worker(timed_cycles=timed)]) for of in stages_of_window]
    return slacks({"windtunnel": windows})


def test_idle_and_stall_of_a_stage_are_slack():
    (found,) = waits([stage(calls=10, empty_calls=4, stalled_calls=2, idle_cycles=200, stall_cycles=100)])
    assert found.shares == (0.3,) and found.sides == "server"


def test_a_stage_that_always_moves_something_leaves_no_slack():
    idle = stage(stage="app_rx", calls=10, empty_calls=10, idle_cycles=500)
    busy = stage(stage="nic_rx", calls=10, empty_calls=0)
    (found,) = waits([idle, busy])
    assert found.shares == (0.0,)


def test_the_stage_with_the_fewest_calls_in_vain_bounds_the_loops():
    often = stage(stage="app_rx", calls=10, empty_calls=8, idle_cycles=400)
    seldom = stage(stage="nic_rx", calls=10, empty_calls=2, idle_cycles=100)
    (found,) = waits([often, seldom])
    assert found.shares == (pytest.approx((400 * 2 / 8 + 100) / 1000),)


def test_a_worker_without_timed_calls_has_none():
    assert waits([stage(calls=10, empty_calls=10)], timed=0) == []


def test_the_least_and_what_cannot_be_told_from_it():
    def of(a, b):
        busy = {"calls": 10, "empty_calls": 5}
        stages = [
            stage(worker=0, stage="app_rx", idle_cycles=a, **busy),
            stage(worker=1, stage="app_rx", idle_cycles=b, **busy),
        ]
        return window(stages, [worker(0, 1000), worker(1, 1000)])

    apart = slacks({"windtunnel": [of(100 + n, 110 + n) for n in range(8)]})
    assert [each.worker for each in slowest(apart)] == [0]  # by pairs: both rise together
    mixed = slacks({"windtunnel": [of(100 + n, 110 + n if n in (0, 1, 6, 7) else 85 + n) for n in range(8)]})
    assert len(slowest(mixed)) == 2
    assert slowest([]) == []


def test_waiting_more_than_working_needs_an_interval():
    def found(*shares):
        (one,) = waits(*([stage(calls=10, empty_calls=5, idle_cycles=share)] for share in shares))
        return one.waits_more_than_it_works

    assert found(700, 710, 690, 700) is True
    assert found(300, 310, 290, 300) is False
    assert found(400, 600, 450, 550) is None
    assert found(700) is None
