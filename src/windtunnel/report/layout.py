"""What all plots have in common: axes, fonts and colours, which are names of the style sheet's variables."""


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
