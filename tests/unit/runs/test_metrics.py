"""Metrics from raw counters: the formulas of docs/reference/metrics.md, percentiles as numpy has them, nothing divided by zero."""

from dataclasses import asdict, replace

import numpy as np
import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from pydantic import ValidationError
from sample_windows import HELLO, LINES, stage, window, worker

from windtunnel.engine.histogram import MOST, Histogram
from windtunnel.engine.windows import PoolLevel, PortWindow, RingLevel, Window
from windtunnel.errors import UserError
from windtunnel.runs import metrics
from windtunnel.runs.histogram import highest_of_bucket, merge, percentile, to_hdr
from windtunnel.runs.notices import lost_messages


def test_a_stage_follows_the_formulas():
    counted = stage(
        calls=100,
        empty_calls=30,
        stalled_calls=10,
        objects=1200,
        burst={0: 40, 20: 60},
        timed_calls=50,
        timed_objects=600,
        busy_cycles=24_000,
        stall_cycles=6_000,
        idle_cycles=4_000,
        interrupted_cycles=12_000,
        drops={"no_room": 3},
    )
    (row,) = metrics.stage_rows([window([counted], [worker(timed_cycles=80_000)])], HELLO)
    assert row.mpps == pytest.approx(1200 / 1e6)
    assert row.work_ns == pytest.approx((24_000 - 6_000) * 0.5 / 600)
    assert row.stall_ns == pytest.approx(6_000 * 0.5 / 600)
    assert row.mean_burst == pytest.approx(1200 / 60)
    assert (row.busy_share, row.stall_share, row.idle_share) == pytest.approx((0.3, 0.075, 0.05))
    assert row.interrupted_share == pytest.approx(0.15) and row.empty_calls_share == pytest.approx(0.3)
    assert row.drops == {"no_room": 3}


def test_net_work_is_without_the_clock():
    counted = stage(calls=10, timed_calls=10, timed_work_calls=4, timed_objects=40, busy_cycles=4_000, stall_cycles=400)
    (row,) = metrics.stage_rows([window([counted])], HELLO, call_ticks=30.0)
    assert row.work_ns == pytest.approx(3_600 * 0.5 / 40)
    assert row.net_work_ns == pytest.approx((3_600 - 4 * 30) * 0.5 / 40)
    (short,) = metrics.stage_rows([window([counted])], HELLO, call_ticks=1e6)
    assert short.net_work_ns == 0
    (unknown,) = metrics.stage_rows([window([counted])], HELLO)
    assert unknown.net_work_ns is None


def test_windows_are_added_before_they_are_divided():
    fast = stage(calls=1, objects=1000, burst={1000: 1}, timed_objects=1000, busy_cycles=2_000)
    slow = stage(calls=1, objects=10, burst={10: 1}, timed_objects=10, busy_cycles=2_000)
    second = window([slow], start_ns=1_000_000_000, end_ns=4_000_000_000)
    (row,) = metrics.stage_rows([window([fast]), second], HELLO)
    assert row.work_ns == pytest.approx(4_000 * 0.5 / 1010)
    assert row.mpps == pytest.approx(1010 / 4 / 1e6)


def test_instances_of_a_stage_are_added_over_their_workers():
    shared = [stage(calls=1, index=n, worker=n, busy_cycles=100 * (n + 1), timed_objects=10) for n in range(2)]
    workers = [worker(n, timed_cycles=1000) for n in range(3)]
    (row,) = metrics.stage_rows([window(shared, workers)], HELLO)
    assert row.instances == 2 and row.busy_share == pytest.approx(300 / 2000)


def test_only_measured_windows_count():
    windows = [window([stage(calls=1, objects=n)], phase=p) for n, p in ((5, "warmup"), (7, "measure"), (11, "drain"))]
    assert [row.objects for row in metrics.stage_rows(windows, HELLO)] == [7]
    assert [row.objects for row in metrics.stage_rows(windows, HELLO, ("warmup", "measure"))] == [12]
    assert metrics.stage_rows(windows[:1], HELLO) == []


def test_the_counts_level_has_no_times():
    counted = stage(calls=10, objects=100, burst={10: 10})
    (row,) = metrics.stage_rows([window([counted], [worker()])], HELLO)
    assert row.mpps is not None and row.mean_burst == 10
    assert row.work_ns is row.stall_ns is row.busy_share is row.idle_share is row.interrupted_share is None


def test_the_off_level_has_no_stages():
    assert metrics.stage_rows([window([stage()], [worker()])], HELLO) == []


def test_a_counter_missing_in_one_window_is_null_in_the_sum():
    port = {"rx_packets": 1, "rx_bytes": 64, "rx_bursts": 1, "tx_packets": 8, "tx_bytes": 64, "tx_bursts": 2}
    ports = [PortWindow(endpoint="server", doorbells=bells, **port) for bells in (4, None)]
    (both,) = metrics.port_rows([window(ports=[p]) for p in ports])
    (one,) = metrics.port_rows([window(ports=ports[:1])])
    assert both.tx_packets_per_doorbell is None and both.tx_burst == 4
    assert one.tx_packets_per_doorbell == 2
    delays = [worker(preempted_ns=delay) for delay in (5_000_000, None)]
    assert metrics.worker_rows([window(workers=delays[:1])])[0].preempted_share == pytest.approx(0.005)
    assert metrics.worker_rows([window(workers=[w]) for w in delays])[0].preempted_share is None
    long = worker(preempted_ns=5_000_000_000)
    assert metrics.worker_rows([window(workers=[long])])[0].preempted_share == 1, "it may have begun before"


def test_stages_are_in_packet_order():
    windows = [line for line in LINES if isinstance(line, Window)]
    rows = metrics.stage_rows(windows, HELLO)
    names = [(row.endpoint, row.stage) for row in rows]
    client = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
    server = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")
    assert names == [("client", s) for s in client] + [("server", s) for s in server]


def test_shares_of_a_worker_add_up_to_its_time():
    windows = [line for line in LINES if isinstance(line, Window)]
    for row in metrics.worker_rows(windows):
        assert row.work_share + row.stall_share + row.idle_share + row.interrupted_share == pytest.approx(1)


def test_lost_messages_are_said_to_be_later_than_any_response():
    windows = [line for line in LINES if isinstance(line, Window)]
    (row,) = metrics.workload_rows(windows, ["echo"])
    lost = replace(row, responses=9_950, lost=50)
    assert list(lost_messages([replace(lost, lost=0), replace(lost, responses=0)])) == []
    [warning] = lost_messages([lost])
    assert warning.kind == "warning" and warning.words.startswith(
        "echo: 50 messages were lost (0.50% of all). In the percentiles they took longer than any response"
    )


def test_a_workload_sums_all_measured_windows():
    windows = [line for line in LINES if isinstance(line, Window)]
    (row,) = metrics.workload_rows(windows, ["echo"])
    counted = [w.workloads[0] for w in windows if w.phase == "measure"]
    assert row.workload == "echo" and row.responses == sum(w.responses for w in counted) == row.latency.samples
    assert row.responses_per_s == pytest.approx(row.responses / 4)
    assert row.latency.maximum == max(w.latency.max for w in counted)
    assert row.latency.p50 <= row.latency.p90 <= row.latency.p99 <= row.latency.p999 <= row.latency.maximum


COUNTER = st.integers(0, 2**40) | st.just(0)
STAGES = st.builds(
    stage,
    calls=COUNTER,
    empty_calls=COUNTER,
    objects=COUNTER,
    timed_calls=COUNTER,
    timed_objects=COUNTER,
    busy_cycles=COUNTER,
    idle_cycles=COUNTER,
    stall_cycles=COUNTER,
    interrupted_cycles=COUNTER,
    index=st.integers(0, 2),
    worker=st.integers(0, 2),
    stage=st.sampled_from(metrics.TRAVEL["server"]),
    burst=st.dictionaries(st.integers(0, 64), COUNTER, max_size=3),
    drops=st.dictionaries(st.sampled_from(["a", "b"]), COUNTER),
)
WORKERS = st.builds(worker, number=st.integers(0, 2), timed_cycles=COUNTER, preempted_ns=st.none() | COUNTER)
PORTS = st.builds(
    PortWindow,
    endpoint=st.sampled_from(["client", "server"]),
    doorbells=st.none() | COUNTER,
    **{name: COUNTER for name in PortWindow.model_fields if name not in ("endpoint", "doorbells")},
)
WINDOWS = st.builds(
    window,
    st.lists(STAGES, max_size=4),
    st.lists(WORKERS, max_size=3),
    st.lists(PORTS, max_size=2),
    phase=st.sampled_from(["warmup", "measure", "drain"]),
    end_ns=st.sampled_from([0, 1, 500_000_000]),
)


@examples(50)
@given(st.lists(WINDOWS, max_size=3))
def test_empty_counters_do_not_divide_by_zero(windows):
    rows = [*metrics.stage_rows(windows, HELLO), *metrics.worker_rows(windows), *metrics.port_rows(windows)]
    for row in rows:
        numbers = [value for value in asdict(row).values() if isinstance(value, float)]
        assert np.isfinite(numbers).all()


@pytest.mark.parametrize("percent", [50, 90, 99, 99.9, 99.99])
def test_percentiles_are_those_of_numpy_within_the_resolution(percent):
    raw = np.random.default_rng(7).lognormal(np.log(90_000), 1.2, 200_000).astype(int)
    exact = np.percentile(raw, percent, method="inverted_cdf")
    assert percentile(sample.histogram(raw), percent) == pytest.approx(exact, rel=1e-3)


VALUES = st.lists(st.integers(0, 60_000_000_000), min_size=1, max_size=300)


@examples(40)
@given(VALUES, st.sampled_from([50.0, 90.0, 99.0]))
def test_percentiles_are_those_of_hdrhistogram(values, percent):
    ours = sample.histogram(values, times=100)
    hdr = to_hdr(ours)
    assert hdr.get_total_count() == 100 * len(values)
    assert percentile(ours, percent) == min(hdr.get_value_at_percentile(percent), max(values))


@examples(30)
@given(st.lists(VALUES, min_size=1, max_size=4), st.sampled_from([5, 11]))
def test_merging_windows_is_recording_all(parts, bits):
    merged = merge(sample.histogram(part, bits) for part in parts)
    assert merged == sample.histogram([value for part in parts for value in part], bits)


@given(st.integers(0, 2**36 - 1), st.sampled_from([5, 11]))
def test_a_bucket_holds_its_value_and_is_narrow(value, bits):
    ((lowest, _),) = sample.histogram([value], bits).counts
    highest = highest_of_bucket(lowest, bits)
    assert lowest <= value <= highest and highest - lowest <= value * 2 ** (1 - bits)


@pytest.mark.parametrize(("samples", "known"), [(999, False), (1000, True)])
def test_p999_needs_a_thousand_samples(samples, known):
    assert (percentile(sample.histogram(range(samples)), 99.9) is not None) == known


def test_more_than_the_engine_can_count_is_refused():
    most = Histogram(bits=11, counts=[(1, MOST)], total=MOST, sum=MOST, min=1, max=1)
    with pytest.raises(UserError, match="more than 64 bits count"):
        merge([most, most])


def test_an_empty_histogram_is_null_and_never_zero():
    empty = sample.histogram([])
    assert metrics.latency(None) == metrics.latency(empty)
    assert [value for value in asdict(metrics.latency(empty)).values() if value is not None] == [0]
    assert merge([None, None]) is None


def test_histograms_of_different_resolution_are_not_merged():
    with pytest.raises(ValueError, match="resolution"):
        merge([sample.histogram([1], 5), sample.histogram([1], 11)])
    with pytest.raises(ValueError, match="5 bits"):
        to_hdr(sample.histogram([1], 5))


def test_batches_are_spread_in_ns_at_histograms():
    timed = stage(calls=1, completion=sample.histogram([200, 400], 5), stall=sample.histogram([0, 0], 5))
    (row,) = metrics.stage_rows([window([timed])], HELLO)
    assert (row.completion.minimum, row.completion.mean, row.completion.maximum) == (100, 150, 200)
    assert row.completion.p50 == pytest.approx(100, rel=0.0625) and row.completion.p99 is None
    assert row.stall.maximum == 0


@pytest.mark.parametrize("level", [{"name": "server rx", "used": 0}, {"endpoint": "server", "free": 0}])
def test_a_ring_or_a_pool_has_room(level):
    """Shares of it are computed; a record may come from anybody."""
    kind = RingLevel if "name" in level else PoolLevel
    assert kind(size=1, **level)
    with pytest.raises(ValidationError):
        kind(size=0, **level)
