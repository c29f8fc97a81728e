"""The sums of the engines' windows, as OpenMetrics families.

Counters are sums over all windows so far, warm-up and drain included; gauges are of the last window. Seconds of stages are of
timed calls only: divide them by `timed_calls` or `timed_objects`, never by all of them.
"""

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.registry import Collector
from pydantic import BaseModel

from windtunnel.engine.counted import levels_of
from windtunnel.engine.histogram import Histogram
from windtunnel.engine.lines import AnyLine, Hello
from windtunnel.engine.windows import PoolLevel, RingLevel, Window, WorkloadWindow
from windtunnel.part_registry import part_modules
from windtunnel.runs.histogram import highest_of_bucket, percentile
from windtunnel.runs.registry import Noun, counters
from windtunnel.runs.registry.percentiles import PERCENTILES
from windtunnel.version import __version__

if TYPE_CHECKING:
    from windtunnel.scenario import RunSpec

NS = 1e9
PHASES = ("starting", "hello", "warmup", "measure", "variant", "settle", "drain")
BOUNDS_NS = [digit * 10**power for power in range(3, 10) for digit in (1, 2, 5)] + [10**10]
"""1 us to 10 s. A bucket of the engine's histogram that lies across a bound is counted above it: 0.1% of the value at most."""
QUANTILES = tuple(entry.percent for entry in PERCENTILES if entry.exported)
TIMES = {
    "latency": "Response minus intended send time",
    "pacing": "Real minus intended send time, open loop only",
}
"""Histograms of a workload's window, and their meaning."""

LABELS: dict[Noun, tuple[str, ...]] = {
    "stage": ("endpoint", "stage", "index"),
    "port": ("endpoint",),
    "workload": ("workload",),
    "worker": ("engine", "worker", "cpu"),
}
LEVELS: dict[str, tuple[str, type[BaseModel]]] = {
    "rings": ("ring", RingLevel),
    "pools": ("endpoint", PoolLevel),
    "workloads": ("workload", WorkloadWindow),
}
"""Parts of a window that have levels, the label of their gauges, and their model."""


class Windows(Collector):
    """A listener of the supervisor, from which prometheus_client collects. Neither waits while it holds the lock."""

    def __init__(self, spec: "RunSpec"):
        plan = spec.plans[0]
        self._info = {
            "title": spec.title,
            "plan_hash": plan.hash,
            "version": __version__,
            "wire": plan.endpoints[0].port.wire,
            "memory": plan.eal.memory,
            "accounting": plan.accounting.level,
        }
        self._workloads = [workload.name for workload in plan.workloads]
        self._plan = plan
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
        hz = self._hz.get(engine)
        for stage in window.stages:
            labels = (stage.endpoint, stage.stage, str(stage.index))
            self._add("stage", labels, stage, hz)
            for reason, packets in stage.drops.items():
                self._sums["stage_dropped_packets"][*labels, reason] += packets
        for port in window.ports:
            self._add("port", (port.endpoint,), port, hz)
        for worker in window.workers:
            self._add("worker", (engine, str(worker.worker), str(worker.cpu)), worker, hz)
        for exposition in part_modules("exposition"):
            for noun, labels, counted in exposition.counted(self._plan, window):
                self._add(noun, labels, counted, hz)
            for name, labels, count in exposition.added(self._plan, window):
                self._sums[name][labels] += count
        for workload in window.workloads:
            named = (self._workloads[workload.workload],)
            self._add("workload", named, workload, hz)
            for name, times in self._times.items():
                if histogram := getattr(workload, name):
                    times[named].add(histogram)

    def _add(self, noun: Noun, labels: tuple[str, ...], part: BaseModel, hz: int | None) -> None:
        for counter in counters()[noun]:
            count, a_second = getattr(part, counter.name), {"cycles": hz, "ns": NS}.get(counter.unit, 1)
            if count is not None and a_second:  # what was not measured is absent, never zero
                self._sums[f"{noun}_{counter.openmetrics}"][labels] += count / a_second if a_second != 1 else count

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            families = [*self._about(), *self._counters(), *self._levels(), *self._histograms()]
        return iter(families)

    def describe(self) -> list[Metric]:
        """Nothing, because the families depend on the windows."""
        return []

    def _about(self) -> Iterator[Metric]:
        yield InfoMetricFamily("windtunnel_run", "What runs", self._info)
        phase = {phase: phase == self._phase for phase in PHASES}
        yield StateSetMetricFamily("windtunnel_phase", "Phase of the last window", phase)

    def _counters(self) -> Iterator[Metric]:
        yield self._counter("windows", "Windows closed", ("engine",))
        labels_of = LABELS | {noun: names for part in part_modules("exposition") for noun, names in part.LABELS.items()}
        for noun, labels in labels_of.items():
            for counter in counters()[noun]:
                yield self._counter(f"{noun}_{counter.openmetrics}", _sentence(counter.help), labels)
        yield self._counter("stage_dropped_packets", "Packets dropped by the stage", (*LABELS["stage"], "reason"))
        for exposition in part_modules("exposition"):
            for name, (about, label_names) in exposition.SUMS.items():
                yield self._counter(name, about, label_names)

    def _counter(self, name: str, about: str, labels: tuple[str, ...]) -> Metric:
        unit = next((unit for unit in ("seconds", "bytes") if name.endswith(f"_{unit}")), "")
        family = CounterMetricFamily(f"windtunnel_{name}", about, labels=labels, unit=unit)
        for values, sum_ in self._sums.get(name, {}).items():
            family.add_metric(values, sum_)
        return family

    def _levels(self) -> Iterator[Metric]:
        for parts, (label, model) in LEVELS.items():
            for level in levels_of(model):
                family = GaugeMetricFamily(f"windtunnel_{level.openmetrics}", _sentence(level.help), labels=(label,))
                for part in (part for window in self._last.values() for part in getattr(window, parts)):
                    family.add_metric((self._name(part),), getattr(part, level.name))
                yield family

    def _name(self, part: RingLevel | PoolLevel | WorkloadWindow) -> str:
        match part:
            case RingLevel():
                return part.name
            case PoolLevel():
                return part.endpoint
            case _:
                return self._workloads[part.workload]

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
    """A histogram with round bounds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_NS) + 1)
        self.sum_ns = 0

    def add(self, histogram: Histogram) -> None:
        for lowest, count in histogram.counts:
            self._counts[bisect_left(BOUNDS_NS, highest_of_bucket(lowest, histogram.bits))] += count
        self.sum_ns += histogram.sum

    def buckets(self) -> list[tuple[str, float]]:
        """The buckets with cumulative counts, as OpenMetrics defines them."""
        cumulative = 0
        buckets: list[tuple[str, float]] = []
        for bound, count in zip([*(bound / NS for bound in BOUNDS_NS), float("inf")], self._counts, strict=True):
            cumulative += count
            buckets.append(("+Inf" if bound == float("inf") else repr(bound), cumulative))
        return buckets


def _sentence(help: str) -> str:
    return help[:1].upper() + help[1:]
