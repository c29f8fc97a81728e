"""Metrics of threads against applications whose costs are known."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observed_samples import PRESENT_TICKS, THREAD, TSC_HZ, busy_windows, channel, port, turns, window

from windtunnel.parts.attach.own_cost import own_cost, slowdown
from windtunnel.parts.attach.thread_metrics import threads

OTHER = 4712
VARIED = {0: 0.4, 4: 0.2, 8: 0.1, 16: 0.1, 32: 0.2}


def thread_of(windows):
    [thread] = threads(windows, TSC_HZ)
    return thread


def test_parts_of_a_turn_add_up_to_what_a_packet_takes():
    thread = thread_of(busy_windows({32: 1.0}, burst=320, packet=40))
    assert thread.cost.all.mean == pytest.approx(25.0, rel=1e-3)  # 50 ticks at 2 GHz
    assert thread.cost.rx.mean == pytest.approx(5.0, rel=1e-3)
    assert thread.cost.tx.mean == pytest.approx(5.0, rel=1e-3)
    assert thread.cost.application.mean == pytest.approx(15.0, rel=1e-3)


def test_what_reading_the_clock_takes_is_taken_off_by_the_time_on_the_cpu():
    plain, timed = (thread_of(busy_windows({32: 1.0}, burst=320, packet=40, clock=clock)) for clock in (0, 80))
    assert timed.cost.all.mean == pytest.approx(plain.cost.all.mean, rel=2e-3)
    assert timed.cost.rx.mean == pytest.approx(plain.cost.rx.mean, rel=2e-2)


@settings(max_examples=25)
@given(burst=st.integers(0, 2000), packet=st.integers(20, 400), clock=st.integers(0, 100))
def test_the_line_of_varied_bursts_is_found(burst, packet, clock):
    thread = thread_of(busy_windows(VARIED, burst=burst, packet=packet, clock=clock, count=6))
    found_burst, found_packet = thread.line
    assert found_packet == pytest.approx(packet, rel=0.02, abs=1)
    assert found_burst == pytest.approx(burst, rel=0.05, abs=25)
    expected = 32 * TSC_HZ / (burst + 32 * packet)
    assert thread.capacity.mean == pytest.approx(expected, rel=0.03)


def test_bursts_of_one_size_have_no_line():
    thread = thread_of(busy_windows({0: 0.5, 8: 0.5}, burst=320, packet=40))
    assert thread.capacity is None
    assert "hardly vary" in thread.no_line


def test_a_rare_burst_size_makes_no_line():
    thread = thread_of(busy_windows({8: 0.995, 16: 0.003, 32: 0.002}, burst=320, packet=40))
    assert thread.capacity is None


def test_rates_are_of_the_time_of_presence():
    thread = thread_of(busy_windows({32: 1.0}, burst=320, packet=40))
    assert thread.rate.mean == pytest.approx(TSC_HZ / 50, rel=1e-3)
    assert thread.rate.low <= thread.rate.mean <= thread.rate.high


def test_busy_is_the_share_of_turns_with_packets():
    thread = thread_of(busy_windows({0: 0.5, 32: 0.5}, burst=0, packet=30))
    assert thread.busy.mean == pytest.approx(960 / 1000, rel=1e-3)


@pytest.mark.parametrize(
    ("shares", "saturated"),
    [({32: 1.0}, True), ({0: 0.01, 32: 0.99}, True), ({0: 0.1, 32: 0.9}, False), ({16: 1.0}, False), ({0: 1.0}, False)],
)
def test_a_thread_is_saturated_if_its_calls_find_all_that_they_ask_for(shares, saturated):
    assert thread_of(busy_windows(shares, burst=320, packet=40)).saturated is saturated


def test_excluded_windows_are_in_no_metric():
    windows = busy_windows({32: 1.0}, burst=320, packet=40)
    spoiled = window(99, [channel({1: 10**9})], excluded="thread 4711 was preempted")
    assert thread_of([*windows, spoiled]).rate == thread_of(windows).rate


def test_threads_are_in_the_order_of_their_lcores():
    channels = [
        channel({32: 10}, thread=5, lcore=3),
        channel({32: 10}, thread=6, lcore=1),
        channel({32: 10}, thread=4, lcore=None),
    ]
    assert [t.name for t in threads([window(0, channels)], TSC_HZ)] == ["lcore 1", "lcore 3", "thread 4"]
    assert [t.number for t in threads([window(0, channels)], TSC_HZ)] == [6, 5, 4]


def test_a_thread_that_did_nothing_is_none_of_the_data_path():
    assert threads([window(0, [channel({})])], TSC_HZ) == []


def test_the_probes_cost_is_its_slowdown_by_the_share_of_its_presence():
    windows = [window(n, [channel({32: 10})], [port(950 + n % 2, 19000)]) for n in range(10)]
    assert slowdown(windows).mean == pytest.approx(0.0495, abs=1e-3)
    assert own_cost(windows).mean == pytest.approx(0.05 * 0.0495, abs=1e-4)


def test_without_statistics_the_cost_is_not_known():
    assert own_cost([window(n, [channel({32: 10})]) for n in range(10)]) is None


def test_the_sample_is_of_one_thread():
    assert thread_of(busy_windows({32: 1.0}, burst=1, packet=40)).number == THREAD


@pytest.mark.parametrize("counting", [0, 30])
def test_what_counting_takes_is_taken_off_by_the_turns_without_the_probe(counting):
    """A turn of 32 packets takes 1600 ticks, and with the probe `counting` more: the ports forward fewer packets then."""
    windows = []
    for index in range(10):
        [line] = busy_windows({32: 1.0}, burst=320, packet=40, clock=counting, count=1, extra=counting)
        ports = [port(absent=19 * PRESENT_TICKS / 1600 * 32)]
        windows.append(line.model_copy(update={"index": index, "ports": ports}))
    assert thread_of(windows).cost.all.mean == pytest.approx(25.0, rel=2e-3)


def test_a_port_of_two_threads_does_not_tell_the_turns_of_one():
    windows = []
    for index in range(10):
        timed = turns({32: 1000}, burst=320, packet=40)
        calls = {32: PRESENT_TICKS // 1600}
        both = [channel(calls, timed), channel(calls, timed, thread=OTHER, lcore=2, queue=1)]
        windows.append(window(index, both, [port(absent=1)]))
    assert [t.cost.all.mean for t in threads(windows, TSC_HZ)] == pytest.approx([25.0, 25.0], rel=1e-3)
