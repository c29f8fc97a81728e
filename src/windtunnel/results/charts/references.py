"""Published curves, drawn faintly for comparison.

M. Endraß, "Performance Evaluation of Software Dataplanes", talk on his master's thesis, Technical University of Munich, 2019: throughput of
exact tables of 4x4-byte keys in T4P4S on c cores of its machine. Its models of ternary and LPM tables, and its points, are not published.
"""

from collections.abc import Sequence
from typing import Any

LINE_RATE_MPPS = 14.88
"""Of its 10 Gbit/s link, 64-byte frames."""


def thesis_exact(entries: float, cores: int) -> float:
    """Mpps. Two pieces, for tables within the L3 cache and beyond; they cross at some 150,000 entries, and the lesser one holds."""
    within = 1932.81057 / (1.44044 * entries + 1608.13472) + 4.97731
    beyond = 19575541.84198 / (55.85253 * entries + 2.75052) + 2.67665
    return min(cores * min(within, beyond), LINE_RATE_MPPS)


NAMES = {"thesis exact": thesis_exact}
WORDS = {
    "thesis exact": "faint: the published model of T4P4S on 10 Gbit/s (Endraß, TU Munich 2019), on another machine",
}


def traces(name: str, entries: Sequence[float], cores: Sequence[int]) -> list[dict[str, Any]]:
    """A faint line for each number of cores."""
    model = NAMES[name]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{name}, cores {c}",
            "x": list(entries),
            "y": [model(n, c) for n in entries],
            "line": {"color": "var(--muted)", "width": 1.2, "dash": "dot"},
            "opacity": 0.6,
            "hovertemplate": "%{y:.2f} Mpps<extra>%{fullData.name}</extra>",
        }
        for c in cores
    ]
