"""The ledger of a worker's nanoseconds closes, whatever was counted."""

import pytest
from diagnosed_runs import CYCLES, made
from hypothesis import given
from hypothesis import strategies as st
from sample_windows import stage, worker

from windtunnel.diagnose import diagnose
from windtunnel.diagnose.ledger import parts_of

COUNT = st.integers(0, 10**9)


@st.composite
def stages(draw):
    calls = draw(st.integers(1, 10**6))
    empty = draw(st.integers(0, calls))
    stalled = draw(st.integers(0, calls - empty))
    busy = draw(COUNT)
    return stage(
        stage=draw(st.sampled_from(["nic_rx", "disp_rx", "app_rx"])),
        calls=calls,
        empty_calls=empty,
        stalled_calls=stalled,
        timed_calls=draw(st.integers(1, calls)),
        busy_cycles=busy,
        stall_cycles=draw(st.integers(0, busy)),
        idle_cycles=draw(COUNT),
        traffic_cycles=draw(COUNT),
        interrupted_cycles=draw(COUNT),
    )


@given(st.lists(stages(), min_size=1, max_size=6), COUNT, st.integers(1, 10**6), st.floats(0, 100))
def test_parts_and_rest_are_the_whole(of_worker, cycles, loops, stamp):
    parts = parts_of(worker(timed_cycles=1).model_copy(update={"cycles": cycles, "loops": loops}), of_worker, stamp)
    named = parts.stall + parts.idle + parts.interrupted + parts.traffic + parts.clock
    assert sum(parts.work.values()) + named + parts.rest == pytest.approx(cycles, abs=1e-6 * (named + cycles + 1e9))


def test_without_a_clock_and_with_all_loops_timed_nothing_is_left():
    of_worker = [stage(calls=100, timed_calls=100, empty_calls=20, busy_cycles=8000, idle_cycles=400, stall_cycles=100)]
    parts = parts_of(worker().model_copy(update={"cycles": 8400, "loops": 100}), of_worker, 0.0)
    assert (parts.work, parts.stall, parts.idle, parts.rest) == ({"server app_rx": 7900}, 100, 400, 0)


def test_what_the_clock_adds_is_a_part_of_its_own():
    of_worker = [stage(calls=100, timed_calls=10, empty_calls=50, busy_cycles=1000, idle_cycles=300)]
    parts = parts_of(worker().model_copy(update={"cycles": 10_000, "loops": 100}), of_worker, 20.0)
    assert parts.work == {"server app_rx": pytest.approx((1000 - 5 * 20) * 10)}
    assert parts.idle == pytest.approx((300 - 5 * 20) * 10) and parts.clock == 200


def test_no_timed_loop_no_ledger():
    assert parts_of(worker(), [stage(calls=5)], 0.0) is None


def test_of_a_run_it_is_ns_a_message():
    client, server = diagnose(made(client=0.2, server=0.05, messages=500_000)).ledgers
    tick_ns = 0.4
    assert server.window_ns == pytest.approx(CYCLES * tick_ns / 500_000, rel=1e-3)
    whole = sum(server.work.values()) + server.stall + server.idle + server.interrupted + server.clock
    assert whole + server.rest.mean == pytest.approx(server.window_ns)
    assert server.idle < client.idle and set(server.work) == {f"server {name}" for name in
        ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")}  # fmt: skip
