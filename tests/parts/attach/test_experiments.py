"""Experiments with delays against applications whose limits are known."""

from random import Random

import pytest
from observed_samples import THREAD, TSC_HZ, busy_windows, channel, port, window

from windtunnel.finding import NotMeasured
from windtunnel.parts.attach import experiments
from windtunnel.parts.attach.experiments import DelayLine, capacity, is_steady, run_causal, run_headroom, slopes
from windtunnel.parts.attach.thread_metrics import threads

OTHER = 4712


class Pipeline:
    """Two threads over a ring: the slower one decides. It takes the place of `Delays`, and time costs nothing."""

    def __init__(self, first_ns, second_ns, noise=0.001):
        self.costs = {THREAD: first_ns, OTHER: second_ns}
        self.noise, self.steps = noise, 0
        self.delayed = []

    def step(self, thread, delay_ns, seconds):
        self.delayed.append((thread, delay_ns))
        self.steps += 1
        slowest = max(cost + (delay_ns if number == thread else 0) for number, cost in self.costs.items())
        packets = round(seconds * 1e9 / slowest * (1 + self.noise * (self.steps % 3 - 1)))
        calls = {32: packets // 32}
        return timed_window([channel(calls), channel(calls, receives=False, thread=OTHER, lcore=2)], seconds)

    def end(self):
        self.delayed.append("end")


class Wandering(dict):
    """Costs of a thread that are drawn anew for each step."""

    def __init__(self, noise):
        super().__init__({THREAD: 60, OTHER: 30})
        self.noise = noise

    def items(self):
        return [(thread, self.noise.uniform(20, 200)) for thread in (THREAD, OTHER)]


def timed_window(channels, seconds, missed=0):
    line = window(0, channels, [port(imissed=missed)])
    return line.model_copy(update={"end_ns": line.start_ns + round(seconds * 1e9)})


def two_threads():
    windows = busy_windows({32: 1.0}, burst=320, packet=40)
    both = [
        w.model_copy(
            update={"channels": [w.channels[0], w.channels[0].model_copy(update={"thread": OTHER, "lcore": 2})]}
        )
        for w in windows
    ]
    return threads(both, TSC_HZ)


@pytest.mark.parametrize(("first", "second", "limits"), [(60, 30, [True, False]), (30, 60, [False, True])])
def test_the_slower_thread_of_a_pipeline_limits(first, second, limits):
    lines, pipeline = [], Pipeline(first, second)
    run_causal(pipeline, two_threads(), lines.append)
    assert [slope.limits for slope in slopes(lines)] == limits
    assert pipeline.delayed[-1] == "end"


def test_threads_alike_are_called_neither():
    lines = []
    run_causal(Pipeline(45, 45), two_threads(), lines.append)
    assert all(slope.limits for slope in slopes(lines))  # each delay slows all, as neither has room


def test_noise_larger_than_the_delays_is_not_told():
    lines, noise = [], Random(1)
    pipeline = Pipeline(60, 30)
    pipeline.costs = Wandering(noise)
    run_causal(pipeline, two_threads(), lines.append)
    assert [slope.limits for slope in slopes(lines)] == [None, None]


def test_a_delay_ends_also_if_a_step_fails():
    pipeline = Pipeline(60, 30)
    pipeline.step = lambda *_: (_ for _ in ()).throw(ProcessLookupError(1))
    with pytest.raises(ProcessLookupError):
        run_causal(pipeline, two_threads(), [].append)
    assert pipeline.delayed == ["end"]


class Loaded:
    """One thread under a load: a turn of n packets takes burst + n x packet ns, and an empty one 20 ns. Bursts grow as its time fills."""

    def __init__(self, rate, burst_ns, packet_ns, missed=0):
        self.rate, self.burst_ns, self.packet_ns, self.missed = rate, burst_ns, packet_ns, missed
        self.delayed = []

    def step(self, thread, delay_ns, seconds):
        self.delayed.append(delay_ns)
        packets = self.rate * seconds
        size = next(
            n
            for n in range(1, 33)
            if n == 32 or packets / n * (self.burst_ns + n * (self.packet_ns + delay_ns)) <= seconds * 1e9
        )
        idle = max(1 - packets / size * (self.burst_ns + size * (self.packet_ns + delay_ns)) / (seconds * 1e9), 0)
        calls = {0: round(idle * seconds * 1e9 / 20), size: round(packets / size)}
        return timed_window([channel(calls)], seconds, self.missed)

    def end(self):
        self.delayed.append("end")


def loaded_thread():
    [thread] = threads(busy_windows({0: 0.7, 4: 0.3}, burst=320, packet=40), TSC_HZ)
    return thread


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_a_thread_filled_with_delays_tells_what_it_carries(load):
    truth = 1e9 / (200 / 32 + 30)
    lines, application = [], Loaded(load * truth, burst_ns=200, packet_ns=30)
    run_headroom(application, loaded_thread(), lines.append)
    assert capacity(lines).mean == pytest.approx(truth, rel=0.1)
    assert is_steady(lines)
    assert application.delayed[-1] == "end"


def test_delays_grow_and_never_beyond_the_idle_time():
    application = Loaded(1e6, burst_ns=200, packet_ns=30)
    run_headroom(application, loaded_thread(), [].append)
    delays = application.delayed[:-1]
    assert delays == sorted(delays)
    assert max(delays) < 1000  # 1 us from packet to packet


def test_missed_packets_end_it_in_words():
    application = Loaded(1e6, burst_ns=200, packet_ns=30, missed=7)
    with pytest.raises(NotMeasured, match="missed packets"):
        run_headroom(application, loaded_thread(), [].append)
    assert application.delayed[-1] == "end"


def test_a_saturated_thread_has_nothing_to_fill():
    [thread] = threads(busy_windows({32: 1.0}, burst=320, packet=40), TSC_HZ)
    with pytest.raises(NotMeasured, match="saturated"):
        run_headroom(Loaded(1e6, 200, 30), thread, [].append)


def test_a_load_that_varies_is_said():
    lines = [
        DelayLine(kind="headroom", round=n, thread=1, delay_ns=0, seconds=1, packets=p, idle=0.0, missed=0)
        for n, p in enumerate((100, 130, 100))
    ]
    assert not is_steady(lines)


def test_the_delay_is_bounded():
    slow = threads(busy_windows({1: 1.0}, burst=320, packet=10**5, count=6), TSC_HZ)
    lines = []
    run_causal(Pipeline(10**5, 10), slow, lines.append)
    assert max(line.delay_ns for line in lines) <= experiments.MOST_DELAY_S * 1e9
