"""Intervals of a run's percentiles, over its windows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.engine.windows import Window, WorkloadWindow
from windtunnel.format import duration
from windtunnel.runs.histogram import highest_of_bucket
from windtunnel.runs.metrics import measured
from windtunnel.runs.reader import Run
from windtunnel.runs.registry.percentiles import DECIDING
from windtunnel.stats.quantile import quantile_of

MOST_LOST = 1 << 40
"""Messages that a window lost: more, as a damaged record may have, are as many. An engine needs hours for them."""


@dataclass(frozen=True)
class PercentileRow:
    """A percentile of the latency from the intended send time, with its 95% interval over the windows of this run."""

    workload: str
    percentile: str
    ns: int
    low_ns: int
    high_ns: int | None
    """None: beyond the slowest response."""


def lines(rows: Sequence[PercentileRow]) -> list[str]:
    """One line a workload, as in "echo, 95% intervals over this run's windows: p50 4.10 µs [4.08 µs .. 4.12 µs], p99 9 µs [8 µs .. beyond the slowest]"."""
    of_workload: dict[str, list[str]] = {}
    for row in rows:
        high = "beyond the slowest" if row.high_ns is None else duration(row.high_ns)
        words = f"{row.percentile} {duration(row.ns)} [{duration(row.low_ns)} .. {high}]"
        of_workload.setdefault(row.workload, []).append(words)
    return [f"{name}, 95% intervals over this run's windows: {', '.join(words)}" for name, words in of_workload.items()]


def percentile_rows(run: Run) -> list[PercentileRow]:
    """Those percentiles of all workloads that have an interval."""
    counted = run.counted
    return [
        row
        for engine in run.record.engines
        for number, workload in enumerate(engine.plan.workloads)
        for row in _rows(workload.name, _of_workload(counted[engine.name], number))
    ]


def _of_workload(windows: Sequence[Window], number: int) -> list[WorkloadWindow]:
    return [each for window in measured(windows) for each in window.workloads if each.workload == number]


def _rows(name: str, windows: Sequence[WorkloadWindow]) -> Iterator[PercentileRow]:
    histograms = [window.latency for window in windows]
    values = sorted({lowest for histogram in histograms if histogram for lowest, _ in histogram.counts})
    if not values:
        return
    places = {lowest: place for place, lowest in enumerate(values)}
    counts = np.zeros((len(windows), len(values)), dtype=np.int64)
    for row, histogram in zip(counts, histograms, strict=True):
        for lowest, count in histogram.counts if histogram else ():
            row[places[lowest]] = count
    lost = np.array([min(window.lost, MOST_LOST) for window in windows], dtype=np.int64)
    bits = next(histogram.bits for histogram in histograms if histogram)
    most = max(histogram.max or 0 for histogram in histograms if histogram)
    for percentile in DECIDING:
        found = quantile_of(counts, lost, percentile.share)
        if found.at is None or found.low is None:
            continue
        ns, low, high = (
            None if at is None else min(highest_of_bucket(values[at], bits), most)
            for at in (found.at, found.low, found.high)
        )
        assert ns is not None and low is not None
        yield PercentileRow(name, percentile.name, ns, low, high)
