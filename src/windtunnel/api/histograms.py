"""Histograms of latency, and differences of pairs."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.engine.histogram import Histogram as Histogram
    from windtunnel.runs.histogram import merge as merge
    from windtunnel.runs.histogram import percentile as percentile
    from windtunnel.stats.differences import LEAST_RUNS as LEAST_RUNS
    from windtunnel.stats.differences import paired as paired

__getattr__ = loader_of(__name__)
