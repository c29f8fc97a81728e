"""Slack: waiting in loops in which nothing moves, and keeping up with what comes."""

import pytest
import sample_lines as sample
from sample_windows import stage, window, worker

from windtunnel.measure.validity import Slack, clock_ticks, slacks, slowest

PLANS = {"windtunnel": sample.plan()}


def worker_of(*stages_of_window, timed=1000):
    """The slack of one worker all of whose loops were timed, a window each."""
    windows = [window(of, [worker(timed_cycles=timed, loops=10, cycles=timed)]) for of in stages_of_window]
    found = slacks({"windtunnel": windows}, PLANS)
    assert len(found) <= 1
    return found[0] if found else None


def polled(calls=10, timed_calls=None, burst=None, **counters):
    """A stage whose numbers fit one another; without a burst its calls with work move 32."""
    with_work = calls - counters.get("empty_calls", 0) - counters.get("stalled_calls", 0)
    burst = {32: with_work} if burst is None else burst
    timed_calls = calls if timed_calls is None else timed_calls
    objects = sum(size * count for size, count in burst.items())
    timed = {"timed_calls": timed_calls, "timed_objects": objects * timed_calls // calls}
    return stage(**({"calls": calls, "objects": objects, "burst": burst} | timed | counters))


@pytest.mark.parametrize(
    ("stages", "share", "waits"),
    [
        ([polled(empty_calls=4, stalled_calls=2, idle_cycles=200, stall_cycles=100)], 0.3, 0.3),
        # a stage that always moves something leaves none
        ([polled(empty_calls=10, idle_cycles=500), polled(stage="nic_rx")], 0.0, 0.0),
        # that with the fewest calls in vain bounds the loops
        ([polled(empty_calls=8, idle_cycles=400), polled(stage="nic_rx", empty_calls=2, idle_cycles=100)], 0.2, 0.2),
        # batches that are not full keep up
        ([polled(burst={32: 10})], 0.0, 0.0),
        ([polled(burst={2: 10})], 1.0, 0.0),
        ([polled(burst={32: 2, 8: 8})], 0.5, 0.0),
        # full ones of one stage are a queue in front of the worker
        ([polled(burst={4: 10}), polled(stage="nic_rx")], 0.0, 0.0),
    ],
)
def test_slack_is_waiting_and_keeping_up(stages, share, waits):
    found = worker_of(stages)
    assert (found.shares, found.waits) == ((pytest.approx(share),), (pytest.approx(waits),)) and found.sides == "server"


@pytest.mark.parametrize(
    ("keys", "stage", "size", "share"),
    [
        ({"batch": {"app_rx": 4}}, "app_rx", 4, 0.0),
        ({"ring_size": 4}, "app_rx", 3, 0.0),  # all its ring holds
        ({"ring_size": 4}, "disp_tx", 3, 0.0),
        ({"ring_size": 4}, "nic_rx", 3, 1.0),
    ],
)
def test_a_batch_is_full_by_the_plan(keys, stage, size, share):
    client, server = PLANS["windtunnel"].endpoints
    batch = server.batch.model_copy(update=keys.get("batch", {}))
    narrow = server.model_copy(update=keys | {"batch": batch})
    plan = PLANS["windtunnel"].model_copy(update={"endpoints": [client, narrow]})
    of = window([polled(stage=stage, burst={size: 10})], [worker(timed_cycles=1000, loops=10, cycles=1000)])
    assert slacks({"windtunnel": [of]}, {"windtunnel": plan})[0].shares == (share,)


@pytest.mark.parametrize(("in_flight", "slack"), [(1024, 1.0), (993, 1.0), (992, 0.0)])
def test_messages_made_as_soon_as_they_may_be_are_no_queue(in_flight, slack):
    stages = [
        polled(endpoint="client", stage="app_tx"),
        polled(endpoint="client", stage="nic_rx", burst={8: 10}),
    ]
    (load,) = next(line for line in sample.engine_lines(sample.plan()) if line.type == "window").workloads
    of = window(stages, [worker(timed_cycles=1000, loops=10, cycles=1000)]).model_copy(
        update={"workloads": [load.model_copy(update={"in_flight": in_flight})]}
    )
    assert slacks({"windtunnel": [of]}, PLANS)[0].shares == (slack,)


def test_a_worker_without_timed_calls_has_none():
    assert worker_of([polled(empty_calls=10, timed_calls=0)], timed=0) is None


def sampled(clock, empty=20, busy=300, more_work=1.0):
    """One loop in ten is timed, half of the loops move nothing. A timed call takes `clock` ticks longer. Of timed loops, `more_work` times as
    many as of the others found something."""
    loops, timed = 1000, 100
    timed_work = round(timed / 2 * more_work)
    timed_empty = timed - timed_work
    cycles = loops // 2 * (empty + busy) + timed * clock
    ticks = {"idle_cycles": timed_empty * (empty + clock), "busy_cycles": timed_work * (busy + clock)}
    of = polled(calls=loops, timed_calls=timed, empty_calls=loops // 2, timed_objects=32 * timed_work, **ticks)
    return [window([of], [worker(timed_cycles=sum(ticks.values()), loops=loops, cycles=cycles)])]


@pytest.mark.parametrize("more_work", [1, 1.5])
def test_what_the_clock_adds_is_what_makes_the_parts_add_up(more_work):
    (of,) = sampled(clock=80, more_work=more_work)
    assert clock_ticks([(of.workers[0], of.stages)]) == pytest.approx(80.0)
    (found,) = slacks({"windtunnel": [of]}, PLANS)
    assert found.waits == pytest.approx((500 * 20 / of.workers[0].cycles,))
    assert found.rests == pytest.approx((0.0,), abs=1e-9)


def test_where_all_loops_are_timed_nothing_is_taken_off():
    assert clock_ticks([(worker(timed_cycles=1000, loops=10, cycles=1000), [polled()])]) == 0.0


def pair(a, b):
    """Two workers that wait for so many of 1000 ticks."""
    stages = [
        polled(worker=n, stage="app_rx", empty_calls=5, idle_cycles=idle, busy_cycles=1000 - idle)
        for n, idle in enumerate((a, b))
    ]
    return window(stages, [worker(n, 1000, loops=10, cycles=1000) for n in (0, 1)])


def test_the_least_and_what_cannot_be_told_from_it():
    apart = slacks({"windtunnel": [pair(100 + n, 110 + n) for n in range(8)]}, PLANS)
    assert [each.worker for each in slowest(apart)] == [0]  # by pairs: both rise together
    lower = [pair(100 + n, 110 + n if n in (0, 1, 6, 7) else 85 + n) for n in range(8)]
    assert len(slowest(slacks({"windtunnel": lower}, PLANS))) == 2
    assert slowest([]) == []


def test_more_than_half_needs_an_interval():
    def found(*idle):
        return worker_of(*([polled(empty_calls=5, idle_cycles=ticks)] for ticks in idle)).more_than_half

    assert found(700, 710, 690, 700, 705) is True
    assert found(300, 310, 290, 300, 305) is False
    assert found(400, 600, 450, 550, 500) is None
    assert found(700) is None


def test_a_difference_that_the_ledgers_do_not_account_for_is_none():
    def of(rest):
        busy = [Slack("windtunnel", 0, 0, "server", (0.001,) * 8, (0.001,) * 8, (0.0,) * 8, (0.001,) * 8)]
        shares = (0.004, 0.005) * 4
        other = Slack("windtunnel", 1, 1, "client", shares, shares, tuple(rest), shares)
        return [each.worker for each in slowest([*busy, other])]

    assert of([0.0] * 8) == [0]
    assert of([0.02, 0.02, -0.02, -0.02, -0.02, -0.02, 0.02, 0.02]) == [1, 0]  # none is known to wait


def test_what_timed_loops_do_not_account_for():
    one = worker(timed_cycles=1000, loops=10, cycles=1100)
    (found,) = slacks({"windtunnel": [window([polled(busy_cycles=990, idle_cycles=0)], [one])]}, PLANS)
    assert found.rests == pytest.approx((1 - 990 / 1100,))


RESTS = (0.02, 0.02, -0.02, -0.02, -0.02, -0.02, 0.02, 0.02)


def unresolved(often, seldom, rests=RESTS):
    """Two workers whose waits the clock cannot tell from nothing: with it, they are `often` and `seldom` of each window."""
    none = (0.0,) * len(often)
    a = Slack("windtunnel", 0, 0, "server", none, none, tuple(rests), tuple(often))
    b = Slack("windtunnel", 1, 1, "client", (0.001,) * len(seldom), none, tuple(-rest for rest in rests), tuple(seldom))
    return [each.worker for each in slowest([a, b])]


def test_where_the_clock_tells_nothing_how_often_decides():
    assert unresolved((0.04, 0.06) * 4, (0.01, 0.012) * 4) == [1]
    assert unresolved((0.01, 0.012) * 4, (0.04, 0.06) * 4) == [0]


def test_one_window_with_many_waits_does_not_decide():
    often = (0.9, *(0.01, 0.012) * 3, 0.011)
    assert unresolved(often, (0.012, 0.011) * 4) == [1, 0]  # a tie; that with fewer waits comes first


def test_a_window_with_hardly_any_waits_weighs_no_more_than_another_one():
    often = (*(0.04, 0.06) * 5, 0.0001, *(0.04, 0.06) * 5, 0.05)
    seldom = (*(0.01, 0.012) * 5, 0.0003, *(0.01, 0.012) * 5, 0.011)
    assert unresolved(often, seldom, (RESTS * 3)[: len(often)]) == [1]


def test_a_wait_that_is_known_is_compared_by_time_alone():
    """The clock adds more to the many short waits of one worker than to the few long ones of the other."""
    a = Slack("windtunnel", 0, 0, "server", (0.2, 0.22) * 4, (0.2, 0.22) * 4, (0.0,) * 8, (0.21, 0.23) * 4)
    b = Slack("windtunnel", 1, 1, "client", (0.22, 0.2) * 4, (0.22, 0.2) * 4, (0.0,) * 8, (0.6, 0.62) * 4)
    assert a.is_known and b.is_known and len(slowest([a, b])) == 2


def test_one_that_is_known_to_wait_is_compared_with_one_that_is_not():
    rest = (0.1, 0.1, -0.1, -0.1, -0.1, -0.1, 0.1, 0.1)
    a = Slack("windtunnel", 0, 0, "server", (0.05, 0.06) * 4, (), (0.0,) * 8, (0.2, 0.21) * 4)
    b = Slack("windtunnel", 1, 1, "client", (0.0,) * 8, (), rest, (0.01, 0.02) * 4)
    assert a.is_known and not b.is_known and [each.worker for each in slowest([a, b])] == [1]
    often = Slack("windtunnel", 1, 1, "client", (0.0,) * 8, (), rest, (0.6, 0.61) * 4)
    assert [each.worker for each in slowest([a, often])] == [1, 0]  # by time it may have less: the many are short


def test_no_waits_on_either_side_are_a_tie():
    assert len(unresolved((0.0,) * 8, (0.0,) * 8)) == 2


def test_slack_in_words():
    known = Slack("windtunnel", 0, 0, "server", (0.2, 0.22) * 4, (), (0.0,) * 8, (0.3,) * 8)
    assert known.text == "21.0%"
    unknown = Slack("windtunnel", 0, 0, "server", (0.001,) * 8, (), RESTS, (0.03,) * 8)
    assert unknown.text == "0.1% (3.0% with what reading the clock adds)"


def test_what_the_clock_adds_is_left_in_the_most():
    (of,) = sampled(clock=80)
    (found,) = slacks({"windtunnel": [of]}, PLANS)
    assert found.most == pytest.approx((500 * 100 / of.workers[0].cycles,))
