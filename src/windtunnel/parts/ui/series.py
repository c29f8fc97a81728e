"""Throughput and latency over the windows of a run, in the form of the charts."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from windtunnel.engine.windows import Window
from windtunnel.results.progress.progress import ANY_PHASE
from windtunnel.runs import metrics
from windtunnel.runs.registry.percentiles import PERCENTILES

MOST_POINTS = 600
_NS = 1e9


def _points() -> deque[Any]:
    return deque(maxlen=MOST_POINTS)


@dataclass
class Series:
    """One point per window. A value that a window lacks is null."""

    times_s: deque[float] = field(default_factory=_points)
    rates: dict[str, deque[float | None]] = field(default_factory=dict)
    """Rates in M/s of each workload; without workloads, of the packets that each endpoint received."""
    latencies: dict[str, deque[float | None]] = field(default_factory=dict)
    """Latencies in µs from the intended send time: percentiles of the only workload, or the p99 of each of several."""

    def add(self, window: Window, names: list[str]) -> None:
        rows = metrics.workload_rows([window], names, ANY_PHASE)
        self.times_s.append(window.end_ns / _NS)
        if rows:
            rates = {row.workload: row.responses_per_s for row in rows}
            self._put(self.rates, {name: None if rate is None else rate / 1e6 for name, rate in rates.items()})
        else:
            ports = metrics.port_rows([window], ANY_PHASE)
            self._put(self.rates, {f"{port.endpoint} received": port.rx_mpps for port in ports})
        if len(rows) == 1:
            times = rows[0].latency
            latencies = {
                percentile.name: getattr(times, percentile.field)
                for percentile in PERCENTILES
                if percentile.in_headline
            }
        else:
            latencies = {f"{row.workload} p99": row.latency.p99 for row in rows}
        self._put(self.latencies, {name: None if ns is None else ns / 1e3 for name, ns in latencies.items()})

    def _put(self, lines: dict[str, deque[float | None]], values: dict[str, float | None]) -> None:
        for name, value in values.items():
            line = lines.setdefault(name, _points())
            line.extend([None] * (len(self.times_s) - 1 - len(line)))
            line.append(value)

    def document(self) -> dict[str, Any]:
        """The series as a JSON document."""
        return {
            "times": list(self.times_s),
            "rate": {name: list(line) for name, line in self.rates.items()},
            "latency": {name: list(line) for name, line in self.latencies.items()},
        }
