"""Histograms of latency, and differences of pairs."""

from windtunnel.engine.histogram import Histogram
from windtunnel.runs.histogram import merge, percentile
from windtunnel.stats.differences import LEAST_RUNS, paired

__all__ = [
    "LEAST_RUNS",
    "Histogram",
    "merge",
    "paired",
    "percentile",
]
