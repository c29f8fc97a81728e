"""What the engines' windows add up to, as OpenMetrics families.

Counters are sums over all windows so far, warm-up and drain included; gauges are of the last window. Seconds of stages are of
timed calls only: divide them by `timed_calls` or `timed_objects`, never by all of them.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.registry import Collector

from windtunnel import __version__
from windtunnel.engine.lines import AnyLine, Hello, Histogram, Window
from windtunnel.runs.histogram import highest_of_bucket, percentile

if TYPE_CHECKING:
    from windtunnel.scenario import Flight

NS = 1e9
PHASES = ("starting", "hello", "warmup", "measure", "drain")
BOUNDS_NS = [digit * 10**power for power in range(3, 10) for digit in (1, 2, 5)] + [10**10]
"""1 us to 10 s. A bucket of the engine's histogram that lies across a bound is counted above it: 0.1% of the value at most."""
QUANTILES = (50.0, 90.0, 99.0, 99.9)
TIMES = {
    "latency": "Answer minus intended send time",
    "pacing": "Real minus intended send time, in open loop",
}
"""Histograms of a workload's window, and their meaning."""

Counted = tuple[str, str, Callable[[Any], int | None]]
"""Name of a counter without `_total`, its meaning, and its value in a window's part."""


def _keys(*named: tuple[str, str, str]) -> list[Counted]:
    return [(name, about, lambda part, key=key: getattr(part, key)) for name, key, about in named]


STAGE = _keys(
    ("objects", "objects", "Packets that the stage moved"),
    ("calls", "calls", "Calls of the stage"),
    ("empty_calls", "empty_calls", "Calls that found nothing to do"),
    ("stalled_calls", "stalled_calls", "Calls that had work and could move nothing"),
    ("timed_calls", "timed_calls", "Calls whose cycles were taken"),
    ("timed_objects", "timed_objects", "Packets that timed calls moved"),
    ("interrupted_calls", "interrupted_calls", "Timed calls above the threshold, in no other time"),
)
STAGE_CYCLES = _keys(
    ("timed_busy_seconds", "busy_cycles", "Time of timed calls that moved something or were held up"),
    ("timed_stall_seconds", "stall_cycles", "Part of busy: waiting for an mbuf, for room in a ring, or for the port"),
    ("timed_idle_seconds", "idle_cycles", "Time of timed calls that found nothing to do"),
    ("interrupted_seconds", "interrupted_cycles", "Time of interrupted calls"),
)
PORT = _keys(
    ("received_packets", "rx_packets", "Packets received"),
    ("received_bytes", "rx_bytes", "Bytes of received packets, without FCS"),
    ("receive_bursts", "rx_bursts", "Calls that received something"),
    ("sent_packets", "tx_packets", "Packets sent"),
    ("sent_bytes", "tx_bytes", "Bytes of sent packets, without FCS"),
    ("send_bursts", "tx_bursts", "Calls that sent something"),
    ("doorbells", "doorbells", "Writes to the device's doorbell"),
)
WORKLOAD = _keys(
    ("offered_messages", "offered", "Messages that fell due"),
    ("sent_messages", "sent", "Messages sent"),
    ("answered_messages", "answered", "Messages answered in time"),
    ("lost_messages", "lost", "Messages without an answer within the timeout"),
    ("late_answers", "late", "Answers after the timeout"),
    ("duplicate_answers", "duplicates", "Answers to a message that had been answered"),
)
WORKER = _keys(("loops", "loops", "Loops of the worker"))
WORKER_NS = _keys(
    ("run_delay_seconds", "run_delay_ns", "Time in which the worker was runnable and the kernel ran somebody else"),
    ("on_cpu_seconds", "on_cpu_ns", "Time on the CPU"),
)


class Windows(Collector):
    """A listener of the supervisor, and what prometheus_client collects from. Neither holds the lock while it waits for anybody."""

    def __init__(self, flight: "Flight"):
        plan = flight.plans[0]
        self._info = {
            "title": flight.title,
            "plan_hash": plan.hash,
            "version": __version__,
            "wire": plan.endpoints[0].port.kind,
            "memory": plan.eal.memory,
            "accounting": plan.accounting.level,
        }
        self._workloads = [workload.name for workload in plan.workloads]
        self._lock = threading.Lock()
        self._phase = "starting"
        self._hz: dict[str, int] = {}
        self._sums: dict[str, dict[tuple[str, ...], float]] = defaultdict(lambda: defaultdict(float))
        self._times: dict[str, dict[tuple[str, ...], Times]] = {name: defaultdict(Times) for name in TIMES}
        self._last: dict[str, Window] = {}

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        """Takes in one line of an engine."""
        with self._lock:
            if isinstance(line, Hello):
                self._hz[name] = line.tsc_hz
            elif isinstance(line, Window):
                self._window(name, line)

    def _window(self, engine: str, window: Window) -> None:
        self._phase, self._last[engine] = window.phase, window
        self._sums["windows"][engine,] += 1
        for stage in window.stages:
            labels = (stage.endpoint, stage.stage, str(stage.index))
            self._add("stage", STAGE, labels, stage)
            if hz := self._hz.get(engine):
                self._add("stage", STAGE_CYCLES, labels, stage, hz)
            for reason, packets in stage.drops.items():
                self._sums["stage_dropped_packets"][*labels, reason] += packets
        for port in window.ports:
            self._add("port", PORT, (port.endpoint,), port)
        for worker in window.workers:
            self._add("worker", WORKER, (engine, str(worker.worker), str(worker.cpu)), worker)
            self._add("worker", WORKER_NS, (engine, str(worker.worker), str(worker.cpu)), worker, NS)
        for workload in window.workloads:
            labels = (self._workloads[workload.workload],)
            self._add("workload", WORKLOAD, labels, workload)
            for name, times in self._times.items():
                if histogram := getattr(workload, name):
                    times[labels].add(histogram)

    def _add(self, of: str, counters: list[Counted], labels: tuple[str, ...], part: Any, unit: float = 1) -> None:
        for name, _, value in counters:
            count = value(part)
            if count is not None:  # what was not measured is absent, never zero
                self._sums[f"{of}_{name}"][labels] += count / unit if unit != 1 else count

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            families = [*self._about(), *self._counters(), *self._levels(), *self._histograms()]
        return iter(families)

    def describe(self) -> list[Metric]:
        """Nothing: which families there are, the windows say."""
        return []

    def _about(self) -> Iterator[Metric]:
        yield InfoMetricFamily("windtunnel_run", "What flies", self._info)
        phase = {phase: phase == self._phase for phase in PHASES}
        yield StateSetMetricFamily("windtunnel_phase", "Phase of the last window", phase)

    def _counters(self) -> Iterator[Metric]:
        yield self._counter("windows", "Windows closed", ("engine",))
        stage = ("endpoint", "stage", "index")
        for of, labels, counters in (
            ("stage", stage, STAGE + STAGE_CYCLES),
            ("port", ("endpoint",), PORT),
            ("workload", ("workload",), WORKLOAD),
            ("worker", ("engine", "worker", "cpu"), WORKER + WORKER_NS),
        ):
            yield from (self._counter(f"{of}_{name}", about, labels) for name, about, _ in counters)
        yield self._counter("stage_dropped_packets", "Packets dropped by the stage", (*stage, "reason"))

    def _counter(self, name: str, about: str, labels: tuple[str, ...]) -> Metric:
        unit = next((unit for unit in ("seconds", "bytes") if name.endswith(f"_{unit}")), "")
        family = CounterMetricFamily(f"windtunnel_{name}", about, labels=labels, unit=unit)
        for values, sum_ in self._sums.get(name, {}).items():
            family.add_metric(values, sum_)
        return family

    def _levels(self) -> Iterator[Metric]:
        ring, pool, workload = ("ring", "rings"), ("endpoint", "pools"), ("workload", "workloads")
        yield self._gauge("ring_entries", "Entries in use", ring, lambda r: (r.name, r.used))
        yield self._gauge("ring_capacity_entries", "Entries that the ring takes", ring, lambda r: (r.name, r.size))
        yield self._gauge("pool_free_mbufs", "Free mbufs", pool, lambda p: (p.endpoint, p.free))
        yield self._gauge("pool_mbufs", "Mbufs of the pool", pool, lambda p: (p.endpoint, p.size))
        names, unsent = self._workloads, "Messages that are due and wait"
        yield self._gauge("workload_unsent_messages", unsent, workload, lambda w: (names[w.workload], w.unsent))
        in_flight = "Messages in flight"
        yield self._gauge(
            "workload_in_flight_messages", in_flight, workload, lambda w: (names[w.workload], w.in_flight)
        )

    def _gauge(self, name: str, about: str, of: tuple[str, str], level: Callable[[Any], tuple[str, int]]) -> Metric:
        label, parts = of
        family = GaugeMetricFamily(f"windtunnel_{name}", about, labels=(label,))
        for part in (part for window in self._last.values() for part in getattr(window, parts)):
            named, value = level(part)
            family.add_metric((named,), value)
        return family

    def _histograms(self) -> Iterator[Metric]:
        for name, about in TIMES.items():
            family = HistogramMetricFamily(
                f"windtunnel_workload_{name}_seconds", about, labels=("workload",), unit="seconds"
            )
            for labels, times in self._times[name].items():
                family.add_metric(labels, times.buckets(), times.sum_ns / NS)
            yield family
            yield self._quantiles(name)

    def _quantiles(self, name: str) -> Metric:
        family = GaugeMetricFamily(
            f"windtunnel_workload_window_{name}_seconds",
            "Quantiles of the last window, of 3 digits",
            labels=("workload", "quantile"),
            unit="seconds",
        )
        for workload in (workload for window in self._last.values() for workload in window.workloads):
            histogram = getattr(workload, name)
            for quantile in QUANTILES if histogram else ():
                if (value := percentile(histogram, quantile)) is not None:
                    family.add_metric((self._workloads[workload.workload], f"{quantile / 100:g}"), value / NS)
        return family


class Times:
    """A histogram with bounds that people read."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_NS) + 1)
        self.sum_ns = 0

    def add(self, histogram: Histogram) -> None:
        for lowest, count in histogram.counts:
            self._counts[bisect_left(BOUNDS_NS, highest_of_bucket(lowest, histogram.bits))] += count
        self.sum_ns += histogram.sum

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative, as OpenMetrics wants them."""
        seen, buckets = 0, []
        for bound, count in zip([*(bound / NS for bound in BOUNDS_NS), float("inf")], self._counts, strict=True):
            seen += count
            buckets.append(("+Inf" if bound == float("inf") else repr(bound), seen))
        return buckets
