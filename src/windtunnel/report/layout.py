"""What all plots have in common: axes, fonts and colours, which are names of the style sheet's variables."""

from windtunnel.runs.format import duration

_MANY_DECADES = 10**4


def axis() -> dict:
    return {
        "gridcolor": "var(--rule)",
        "linecolor": "var(--rule)",
        "zerolinecolor": "var(--rule)",
        "tickfont": {"color": "var(--muted)", "size": 11},
        "automargin": True,
        "fixedrange": True,
    }


def layout_of(height: int) -> dict:
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


def duration_ticks(values: list[int]) -> dict:
    """Ticks at 1, 2 and 5 of every power of ten that these ns reach, or at 1 alone where they are many, in the unit that suits."""
    steps = (1, 2, 5) if max(values) < _MANY_DECADES * max(min(values), 1) else (1,)
    ticks = [step * 10**power for power in range(12) for step in steps]
    ticks = [tick for tick in ticks if min(values) / 2 <= tick <= max(values) * 2]
    return {"tickvals": ticks, "ticktext": [duration(tick) for tick in ticks]}
