"""Intervals, tests and change points are computed in `windtunnel.stats` and nowhere else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = (CHECKOUT / "src/windtunnel", CHECKOUT / "sharing/src/windtunnel_sharing")
ROOM = "stats/"
SUSPECTS = re.compile("scipy|percentile|quantile")
"""Only files with one of these are parsed."""
QUANTILES = {"percentile", "quantile", "nanpercentile", "nanquantile"}
ALLOWED = {
    # the quiet level of a study's ticks: one percentile of data
    "parts/models/measured_runs.py": {"percentile"},
    # percentiles of simulated latencies and gaps: data, as those of a histogram
    "simulate/outcome.py": {"percentile"},
}
"""What else there is, and why it is no interval."""


def statistics(tree: ast.AST) -> Iterator[str]:
    """`scipy.stats`, however it is imported, and numpy's quantiles, however they are called."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from ("scipy.stats" for each in names if _is_stats(each.name))
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for each in names:
                    if _is_stats(module) or _is_stats(f"{module}.{each.name}"):
                        yield "scipy.stats"
                    elif module.split(".")[0] == "numpy" and each.name in QUANTILES:
                        yield each.name
            case ast.Attribute(value=ast.Name("np" | "numpy"), attr=name) if name in QUANTILES:
                yield name
            case ast.Attribute(value=ast.Name("scipy"), attr="stats"):
                yield "scipy.stats"


def _is_stats(module: str) -> bool:
    return module == "scipy.stats" or module.startswith("scipy.stats.")


def test_no_other_room_computes_statistics():
    texts = {
        file.relative_to(source).as_posix(): file.read_text() for source in SOURCES for file in source.rglob("*.py")
    }
    outside = {name: text for name, text in texts.items() if not name.startswith(ROOM) and SUSPECTS.search(text)}
    found = {name: set(statistics(ast.parse(text))) for name, text in outside.items()}
    assert {name: those for name, those in found.items() if those} == {
        name: numpys for name, numpys in ALLOWED.items() if name in texts
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import scipy.stats", ["scipy.stats"]),
        ("import scipy.stats.distributions as d", ["scipy.stats"]),
        ("def f():\n    from scipy import stats", ["scipy.stats"]),
        ("from scipy.stats import t, f", ["scipy.stats"] * 2),
        ("import scipy\nscipy.stats.t", ["scipy.stats"]),
        ("np.percentile(draws, [2.5, 97.5])", ["percentile"]),
        ("import numpy\nnumpy.nanquantile(draws, tails)", ["nanquantile"]),
        ("from numpy import quantile as q", ["quantile"]),
        ("of = np.percentile", ["percentile"]),
        ("from scipy.optimize import brentq\nfrom windtunnel.stats.mean import mean_of\npercentile(histogram, 99)", []),
    ],
)
def test_what_is_found(text, found):
    assert list(statistics(ast.parse(text))) == found
    assert SUSPECTS.search(text)
