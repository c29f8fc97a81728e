"""What all plots have in common: axes, fonts and colours, which are names of the style sheet's variables."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

from windtunnel.format import duration

SERIES = ("var(--work)", "var(--series-2)", "var(--series-3)", "var(--series-4)")
"""Colours of lines and bars, by their place."""
_STEPS = ((1,), (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
"""Of every power of ten."""
_LEAST_TICKS = 3
_APART = 0.03
"""Of an axis: as high as a label, which is turned upright where labels have no room side by side."""


def label_text(text: str) -> str:
    """A text from outside as plotly shows it in a name, a title or a hover text: it reads a little HTML there, and what is in `%{...}` as a format."""
    return escape(text).replace("%{", "&#37;{")


def axis() -> dict[str, Any]:
    return {
        "gridcolor": "var(--rule)",
        "linecolor": "var(--rule)",
        "zerolinecolor": "var(--rule)",
        "tickfont": {"color": "var(--muted)", "size": 11},
        "automargin": True,
        "fixedrange": True,
    }


def layout_of(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 8, "r": 24, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "var(--sans)", "color": "var(--ink)", "size": 12},
        "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--rule)", "font": {"color": "var(--ink)"}},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": axis(),
        "yaxis": axis(),
    }


def log_ticks(values: Iterable[float], words: Callable[[float], str]) -> dict[str, Any]:
    """Ticks of a logarithmic axis at round numbers: the coarsest steps of which three lie among the values, which are above 0."""
    shown = list(values)
    low, high = min(shown), max(shown)
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 2)
    for steps in _STEPS:
        ticks = [step * 10.0**power for power in powers for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= _LEAST_TICKS:
            break
    ticks = [tick for tick in ticks if low / 2 <= tick <= high * 2]
    return {"tickvals": ticks, "ticktext": [words(tick) for tick in ticks]}


def duration_ticks(values: list[int]) -> dict[str, Any]:
    """The same of times in ns, in the unit that suits."""
    return log_ticks([max(value, 1) for value in values], duration)


def ticks_at(values: Sequence[float], texts: Sequence[str], log: bool) -> dict[str, Any]:
    """Ticks at these values, in ascending order, without those whose labels would lie on the one before."""
    places = [log10(value) if log else value for value in values]
    least = _APART * (places[-1] - places[0])
    kept: list[int] = []
    for n, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= least:
            kept.append(n)
    return {"tickvals": [values[n] for n in kept], "ticktext": [texts[n] for n in kept]}
