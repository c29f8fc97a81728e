"""The metrics of a study that are shown: which ones, in which unit, and whether more is better."""

from collections.abc import Sequence
from typing import Any

from windtunnel import format as fmt
from windtunnel.measure.study.columns import WORKLOAD_METRICS, metric_of
from windtunnel.results.metric_columns import value_text

WITH_CLIENT = ("responses_per_s", "p99")
WITHOUT = ("server_rx_mpps", "server_tx_mpps")
LATENCY = frozenset(name for name, metric in WORKLOAD_METRICS.items() if metric.form == "duration")


def chosen(named: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """The metrics that the study file names; by default responses and their p99, or packets without a client."""
    if named:
        return list(named)
    return list(WITH_CLIENT if any(row["workload"] is not None for row in rows) else WITHOUT)


def lower_is_better(column: str) -> bool:
    """As in the registry; a metric without a direction counts as a cost."""
    known = metric_of(column)
    return known is None or known[0].better != "higher"


def text(column: str, value: float | None) -> str:
    """A value with its unit, as text."""
    known = metric_of(column)
    if value is None or known is None:
        return fmt.number(value)
    metric, a_second = known
    if a_second:
        return fmt.rate(value)
    shown = value_text(metric.form, round(value) if metric.form == "count" else value)
    if metric.form == "mpps":
        return f"{shown} Mpps"
    return f"{shown} ns" if metric.unit == "ns/packet" else shown


def spread(values: Sequence[float], median: float) -> float | None:
    """Distance from the smallest to the largest run, as a share of the median."""
    return (max(values) - min(values)) / abs(median) if len(values) > 1 and median else None
