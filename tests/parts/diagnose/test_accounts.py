"""The ledger of a worker's nanoseconds closes, whatever was counted."""

import pytest
from diagnosed_runs import CYCLES, made
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sample_windows import stage, worker

from windtunnel.measure.validity import parts_of
from windtunnel.parts.diagnose.diagnose import diagnose

COUNT = st.integers(0, 10**9)


@st.composite
def stages(draw):
    calls = draw(st.integers(1, 10**6))
    empty = draw(st.integers(0, calls))
    stalled = draw(st.integers(0, calls - empty))
    busy = draw(COUNT)
    objects = draw(COUNT)
    return stage(
        stage=draw(st.sampled_from(["nic_rx", "disp_rx", "app_rx"])),
        calls=calls,
        empty_calls=empty,
        stalled_calls=stalled,
        objects=objects,
        timed_objects=draw(st.integers(0, objects)),
        timed_calls=draw(st.integers(1, calls)),
        busy_cycles=busy,
        stall_cycles=draw(st.integers(0, busy)),
        idle_cycles=draw(COUNT),
        traffic_cycles=draw(COUNT),
        interrupted_cycles=draw(COUNT),
    )


@examples(40)
@given(st.lists(stages(), min_size=1, max_size=6), st.integers(1, 10**9), st.integers(1, 10**6), st.floats(0, 100))
def test_parts_and_rest_are_the_whole(of_worker, cycles, loops, clock):
    parts = parts_of(worker(timed_cycles=1, cycles=cycles, loops=loops), of_worker, clock)
    of_stages = [sum(getattr(each, what) for each in parts.stages) for what in ("work", "stall", "idle")]
    named = [*of_stages, parts.interrupted, parts.traffic, parts.clock]
    assert sum(named) + parts.rest == pytest.approx(cycles, abs=1e-9 * (cycles + sum(map(abs, named))))
    assert len(parts.stages) == len(of_worker)


def test_with_all_loops_timed_nothing_is_left():
    counts = {"calls": 100, "timed_calls": 100, "empty_calls": 20, "stalled_calls": 10, "objects": 700}
    counts |= {"timed_objects": 700}
    of_worker = [stage(**counts, busy_cycles=8000, idle_cycles=400, stall_cycles=100)]
    parts = parts_of(worker(cycles=8400, loops=100), of_worker, 0.0)
    (found,) = parts.stages
    assert (found.name, found.work, found.stall, found.idle) == ("server app_rx", 7900, 100, 400)
    assert parts.rest == pytest.approx(0.0) and found.in_vain == 0.3


def test_work_is_scaled_by_packets_and_idle_time_by_empty_calls():
    counts = {"calls": 100, "timed_calls": 10, "empty_calls": 60, "objects": 400, "timed_objects": 80}
    of_worker = [stage(**counts, busy_cycles=1000, idle_cycles=30)]
    (found,) = parts_of(worker(cycles=5000, loops=100), of_worker, 0.0).stages
    assert found.work == pytest.approx(5000)  # 8 of 10 timed calls had work, of all calls 4 in 10
    assert found.idle == pytest.approx(30 * 60 / 2)


def test_what_the_clock_adds_is_a_part_of_its_own():
    counts = {"calls": 100, "timed_calls": 10, "empty_calls": 50, "objects": 50, "timed_objects": 5}
    parts = parts_of(worker(cycles=10_000, loops=100), [stage(**counts, busy_cycles=1000, idle_cycles=300)], 20.0)
    (found,) = parts.stages
    assert found.work == pytest.approx((1000 - 5 * 20) * 10) and found.idle == pytest.approx((300 - 5 * 20) * 10)
    assert parts.clock == 200


def test_no_timed_loop_no_parts():
    assert parts_of(worker(), [stage(calls=5)], 0.0) is None


def test_of_a_run_it_is_ns_a_message():
    client, server = diagnose(made(client=0.2, server=0.05, messages=500_000)).ledgers
    tick_ns = 0.4
    assert server.window_ns == pytest.approx(CYCLES * tick_ns / 500_000, rel=1e-3)
    whole = sum(server.work.values()) + server.stall + server.idle + server.interrupted + server.traffic + server.clock
    assert whole + server.rest.mean == pytest.approx(server.window_ns)
    assert server.idle < client.idle and set(server.work) == {f"server {name}" for name in
        ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")}  # fmt: skip
