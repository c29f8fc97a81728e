"""The page of `windtunnel pcie estimate --sweep`: the VTune recipe's two charts, its histograms, and their values."""

from typing import Any

from windtunnel.pcie.estimate import BITS, MB
from windtunnel.pcie.sweep import AFTER, BEFORE, HIGHEST, Point, Sweep
from windtunnel.views.pages.charts import SERIES
from windtunnel.views.pages.layout import layout_of
from windtunnel.views.pages.page import filled
from windtunnel.views.terminal.pcie import Row, link_words, rows_of


def render(sweep: Sweep) -> str:
    """The page as HTML."""
    before, _kept, after, _ = sweep.table
    return filled(
        "sweep.html",
        {
            "inbound": inbound(sweep),
            "outbound": outbound(sweep),
            "wire": wire(sweep),
            "histograms": histograms(before, after),
        },
        sweep=sweep,
        rows=[row for port in sweep.ports for row in rows_of(port)],
        link=link_words(sweep.link),
        entries=sweep.nic.entries(),
        before=_row(sweep, 0),
        kept=_row(sweep, 1),
        after=_row(sweep, 2),
        mpps=(BEFORE / MB, AFTER / MB),
    )


def _row(sweep: Sweep, position: int) -> Row:
    [row] = rows_of(sweep.ports[position])
    return row


def inbound(sweep: Sweep) -> dict[str, Any]:
    """What the NIC reads and writes: bursts do not matter to it."""
    points = [*sweep.fours, *sweep.eights]
    data = [
        _line("Inbound Read", points, [p.estimate.rate.inbound_read / MB for p in points], 0),
        _line("Inbound Write", points, [p.estimate.rate.inbound_write / MB for p in points], 1),
    ]
    return {"data": data, "layout": _layout("MB/s", 320)}


def outbound(sweep: Sweep) -> dict[str, Any]:
    """What the CPU writes, with the fracture; between the recipe's two rates nothing is known of the bursts."""
    fours, eights = sweep.fours, sweep.eights
    exact = [p.estimate.rate.outbound_write / MB for p in fours]
    data = [
        _line("bursts of 4", fours, exact, 0),
        _line("bursts of 4 and 8, by the mean burst", eights, [p.estimate.rate.outbound_write / MB for p in eights], 1),
        _line(
            "the same, by the burst that a packet is in", eights, [p.estimate.worded / MB for p in eights], 2, "dash"
        ),
        _line(
            "if bursts stayed at 4",
            sweep.table[:2],
            [p.estimate.rate.outbound_write / MB for p in sweep.table[:2]],
            0,
            "dot",
        ),
    ]
    layout = _layout("MB/s", 360)
    x0, x1 = BEFORE / MB, AFTER / MB
    shade = {"type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1, "y0": 0, "y1": 1, "layer": "below"}
    shade |= {"fillcolor": "var(--shade)", "line": {"width": 0}}
    words = {"text": "here a peak at 8 appears", "textposition": "bottom center"}
    shade["label"] = words | {"font": {"color": "var(--muted)", "size": 11}}
    drop = {"type": "line", "xref": "x", "yref": "y", "x0": x1, "x1": x1}
    drop |= {
        "y0": data[3]["y"][1],
        "y1": data[1]["y"][0],
        "line": {"color": "var(--interrupted)", "width": 2, "dash": "dot"},
    }
    return {"data": data, "layout": layout | {"shapes": [shade, drop]}}


def wire(sweep: Sweep) -> dict[str, Any]:
    """Both directions with their headers, and what the link has for transfers."""
    points = [*sweep.fours, *sweep.eights]
    data = [
        _line("up, to the host", points, [p.estimate.rate.up * BITS / 1e9 for p in points], 0),
        _line("down, to the NIC", points, [p.estimate.rate.down * BITS / 1e9 for p in points], 1),
    ]
    full = sweep.link.usable * BITS / 1e9
    both = [{"pps": 0.0}, {"pps": HIGHEST}]
    limit = {
        "type": "scatter",
        "mode": "lines",
        "name": "what the link has for transfers",
        "x": [p["pps"] / MB for p in both],
    }
    limit |= {"y": [full, full], "line": {"color": "var(--interrupted)", "width": 2, "dash": "dot"}}
    return {"data": [*data, limit], "layout": _layout("Gb/s on the wire", 300)}


def histograms(before: Point, after: Point) -> dict[str, Any]:
    """Packets by the burst in which they came, at both rates."""
    data = []
    for position, point in enumerate((before, after)):
        bursts = point.batches.bursts
        data.append(
            {
                "type": "bar",
                "name": f"{point.pps / MB:g} Mpps",
                "x": list(bursts),
                "y": [size * n / point.batches.packets for size, n in bursts.items()],
                "marker": {"color": SERIES[position]},
                "width": 0.7,
                "offset": -0.75 + 0.8 * position,
                "hovertemplate": "bursts of %{x}: %{y:.0%} of the packets<extra></extra>",
            }
        )
    layout = layout_of(240)
    layout["xaxis"] |= {"title": {"text": "packets a burst"}, "range": [0, 12], "dtick": 4, "showgrid": False}
    layout["yaxis"] |= {"title": {"text": "of the packets"}, "tickformat": ".0%", "range": [0, 1.05]}
    return {"data": data, "layout": layout | {"barmode": "overlay", "showlegend": True}}


def _line(name: str, points, values: list[float], position: int, dash: str = "solid") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [point.pps / MB for point in points],
        "y": values,
        "line": {"color": SERIES[position], "width": 2, "dash": dash},
        "hovertemplate": "%{x:.2f} Mpps: %{y:.3f}<extra>%{fullData.name}</extra>",
    }


def _layout(unit: str, height: int) -> dict[str, Any]:
    layout = layout_of(height)
    layout["xaxis"] |= {"title": {"text": "Mpps"}, "range": [0, HIGHEST / MB], "showgrid": False}
    layout["yaxis"] |= {"title": {"text": unit}, "rangemode": "tozero"}
    return layout | {"showlegend": True}
