"""The columns that people look at: which ones, in which unit, and whether more of it is better."""

from collections.abc import Sequence
from typing import Any

from windtunnel.measure.study.columns import COUNTS, LATENCIES
from windtunnel.runs import format as fmt

WITH_CLIENT = ("answered_per_s", "p99")
WITHOUT = ("server_rx_mpps", "server_tx_mpps")
WANTED = ("answered", "offered", "answered_per_s", "offered_per_s")
LATENCY = (*LATENCIES, *(f"sent_{name}" for name in LATENCIES))


def chosen(named: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """Those that the study file names, else answers and their p99, or packets where no client flew."""
    if named:
        return list(named)
    return list(WITH_CLIENT if any(row["workload"] is not None for row in rows) else WITHOUT)


def lower_is_better(figure: str) -> bool:
    """Of answers, packets, bursts and idle time one wants much, of all else little."""
    return figure not in WANTED and not figure.endswith(("mpps", "_idle", "_burst"))


def text(figure: str, value: float | None) -> str:
    """As people read it, with its unit."""
    if value is None:
        return fmt.DASH
    if figure in LATENCY:
        return fmt.duration(value)
    if figure.endswith("_per_s"):
        return fmt.rate(value)
    if figure.endswith(("_idle", "_preempted", "_busy")):
        return fmt.percent(value)
    if figure.endswith("_ns"):
        return f"{fmt.number(value)} ns"
    if figure.endswith("mpps"):
        return f"{fmt.number(value, 3)} Mpps"
    return fmt.count(round(value)) if figure in COUNTS or figure.endswith("_drops") else fmt.number(value)


def spread(values: Sequence[float], median: float) -> float | None:
    """From the least to the greatest, as a share of the median."""
    return (max(values) - min(values)) / abs(median) if len(values) > 1 and median else None
