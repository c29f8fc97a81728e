"""What all plots have in common: axes, fonts and colours, which are names of the style sheet's variables."""

from typing import Any

from windtunnel.format import duration

_STEPS = ((1,), (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))
"""Of every power of ten."""
_LEAST_TICKS = 3


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


def duration_ticks(values: list[int]) -> dict[str, Any]:
    """Ticks of a logarithmic axis at round ns, in the unit that suits: the coarsest steps of which three lie among the values."""
    low, high = max(min(values), 1), max(values)
    for steps in _STEPS:
        ticks = [step * 10**power for power in range(12) for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= _LEAST_TICKS:
            break
    ticks = [tick for tick in ticks if low / 2 <= tick <= high * 2]
    return {"tickvals": ticks, "ticktext": [duration(tick) for tick in ticks]}
