"""Pauses of the host that may decide a trial, whatever came of it."""

import pytest
import sample_lines as sample
from search_runs import a_run

from windtunnel.engine.plan import Link
from windtunnel.measure.search import NDR, PDR, Goal, Objective
from windtunnel.measure.throughput.pauses import deciding_pause, queue_in_front

LOAD = 50_000.0
"""A queue of 128 packets lasts 2.56 ms."""
P99 = Goal("p99", 0.01, latency=Objective(0.99, 200e3))


def paused(longest_ns: int, all_ns: int | None = None, worker: int = 1, queue: int | None = 128, **more):
    """Measured for a second."""
    return a_run(
        queue=queue, longest_pause_ns={worker: longest_ns}, preempted_ns={worker: all_ns or longest_ns}, **more
    )


def test_the_shortest_queue_that_drops_is_in_front():
    plan = sample.plan()
    assert queue_in_front(plan) == 1024
    assert queue_in_front(a_run(queue=128).record.engines[0].plan) == 128
    port = plan.endpoints[0].port
    delay_alone = port.model_copy(update={"link": Link(bits_per_s=None, delay_ns=5, queue=2)})
    first = plan.endpoints[0].model_copy(update={"port": delay_alone})
    assert queue_in_front(plan.model_copy(update={"endpoints": [first, plan.endpoints[1]]})) == 1024


@pytest.mark.parametrize("worker", [0, 1])
def test_a_pause_longer_than_the_queue_lasts_may_decide(worker):
    words = deciding_pause(paused(10_000_000, worker=worker), LOAD, [NDR])
    assert words == (
        f"pause: the worker on CPU {worker} had no CPU for 10.0 ms; "
        "the queue of 128 packets in front of the data plane lasts 2.56 ms at this load"
    )


def test_a_queue_that_lasts_longer_takes_the_pause():
    assert deciding_pause(paused(2_500_000), LOAD, [NDR]) is None
    assert deciding_pause(paused(2_600_000), LOAD, [NDR]) is not None


def test_many_short_pauses_are_no_long_one():
    assert deciding_pause(paused(1_000_000, all_ns=80_000_000), LOAD, [NDR]) is None


def test_what_became_of_the_messages_is_not_asked():
    """If only trials that fail were left out, those that pass in spite of a pause would raise the rate."""
    lost = {"offered": 50_000, "sent": 50_000, "responses": 40_000, "lost": 10_000}
    of = [deciding_pause(paused(10_000_000, counts=counts), LOAD, [NDR]) for counts in ({}, lost)]
    of.append(deciding_pause(paused(10_000_000, latency=sample.histogram([9_000_000] * 1000)), LOAD, [NDR]))
    of.append(deciding_pause(paused(10_000_000, pacing=sample.histogram([9_000_000] * 1000)), LOAD, [NDR]))
    assert None not in of and len(set(of)) == 1


def test_a_goal_that_allows_loss_is_decided_by_longer_pauses_alone():
    """Half a per cent may be lost: a tenth of that falls due in half a millisecond of a second."""
    fast = 1e7  # the queue of 128 packets lasts 12.8 us
    assert deciding_pause(paused(400_000), fast, [PDR]) is None
    assert deciding_pause(paused(400_000), fast, [PDR, NDR]) is not None, "NDR allows none"
    assert deciding_pause(paused(600_000), fast, [PDR]) is not None


def test_a_pause_longer_than_the_latency_that_is_allowed():
    """1% may be late: a tenth of that falls due in a millisecond of a second."""
    assert deciding_pause(paused(1_200_000, queue=None), LOAD, [P99]) == (
        "pause: the worker on CPU 1 had no CPU for 1.20 ms; pauses were 0.1% of the time, and p99 allows 1.0% to be late"
    )
    assert deciding_pause(paused(900_000, queue=None), LOAD, [P99]) is None, "too few messages for p99"
    assert deciding_pause(paused(190_000, all_ns=9_000_000, queue=None), LOAD, [P99]) is None, "each is short enough"


def test_the_hypervisors_steal_is_one_pause():
    assert "10.0 ms" in deciding_pause(a_run(queue=128, steal_ns={0: 10_000_000}), LOAD, [NDR])


def test_an_engine_that_does_not_know_the_longest_says_all():
    earlier = a_run(queue=128, preempted_ns={1: 8_000_000})
    assert earlier.windows["windtunnel"][1].workers[1].longest_pause_ns is None
    assert "8.00 ms" in deciding_pause(earlier, LOAD, [NDR])


def test_pauses_of_the_warm_up_and_of_the_drain_decide_nothing():
    run = paused(10_000_000)
    (windows,) = run.windows.values()
    calm = a_run(queue=128).windows["windtunnel"][1]
    run.windows["windtunnel"] = [windows[0], calm, windows[2]]
    assert deciding_pause(run, LOAD, [NDR]) is None
