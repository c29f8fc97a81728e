"""The plots of a PCIe sweep: the VTune recipe's two charts, its histograms, and the wire."""

from collections.abc import Sequence
from typing import Any

from windtunnel.parts.pcie.compared import DIRECTIONS, Compared
from windtunnel.parts.pcie.estimate import BITS, MB, Cost
from windtunnel.parts.pcie.sweep import AFTER, BEFORE, HIGHEST, Point, Sweep
from windtunnel.results.charts.layout import SERIES, axis, layout_of


def inbound(sweep: Sweep) -> dict[str, Any]:
    """What the NIC reads and writes. Bursts do not affect it."""
    points = [*sweep.fours, *sweep.eights]
    data = [
        _line("Inbound Read", points, [rate.inbound_read / MB for rate in _rates(points)], 0),
        _line("Inbound Write", points, [rate.inbound_write / MB for rate in _rates(points)], 1),
    ]
    return {"data": data, "layout": _layout("MB/s", 320)}


def beside(compared: Sequence[Compared], sweep: Sweep | None = None) -> dict[str, Any]:
    """What was measured at several rates as dots, and the estimate: of a sweep as lines, of runs as open marks. What the CPU reads and writes,
    which is little, has an axis at the right."""
    directions = [name for name in DIRECTIONS if any(name in one.measured for one in compared)]
    data = [trace for place, name in enumerate(directions) for trace in _beside(compared, sweep, name, place)]
    layout = layout_of(380)
    layout["xaxis"] |= {"title": {"text": "Mpps"}, "rangemode": "tozero", "showgrid": False}
    layout["yaxis"] |= {"title": {"text": "Inbound, MB/s"}, "rangemode": "tozero"}
    if any("yaxis" in trace for trace in data):
        right = {"overlaying": "y", "side": "right", "tickmode": "auto", "showgrid": False, "rangemode": "tozero"}
        layout["yaxis2"] = axis() | right | {"title": {"text": "Outbound, MB/s"}}
    return {"data": data, "layout": layout | {"showlegend": True}}


def _beside(compared: Sequence[Compared], sweep: Sweep | None, name: str, place: int) -> list[dict[str, Any]]:
    """One direction: its estimate and what was measured of it."""
    words, is_inbound = DIRECTIONS[name], name.startswith("inbound")
    at_right, dash = ({}, "solid") if is_inbound else ({"yaxis": "y2"}, "dash")
    if sweep:
        parts = [sweep.fours, sweep.eights]
        lines = [
            _line(f"{words}, estimated", p, [getattr(r, name) / MB for r in _rates(p)], place, dash) for p in parts
        ]
        estimated = [line | {"legendgroup": name, "showlegend": n == 0} for n, line in enumerate(lines)]
    else:
        own = [(one.pps, one.estimated[name]) for one in compared if name in one.estimated]
        estimated = [_marks(f"{words}, estimated", own, place, "diamond-open", 11)]
    counted = [(one.pps, one.measured[name]) for one in compared if name in one.measured]
    return [trace | at_right for trace in (*estimated, _marks(f"{words}, measured", counted, place, "circle", 8))]


def _marks(name: str, values: Sequence[tuple[float, float]], position: int, symbol: str, pixels: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [pps / MB for pps, _ in values],
        "y": [rate / MB for _, rate in values],
        "marker": {"color": SERIES[position], "symbol": symbol, "size": pixels},
        "hovertemplate": "%{x:.2f} Mpps: %{y:,.1f} MB/s<extra>%{fullData.name}</extra>",
    }


def outbound(sweep: Sweep) -> dict[str, Any]:
    """What the CPU writes, with the fracture. The bursts between the recipe's two rates are not known."""
    fours, eights = sweep.fours, sweep.eights
    exact = [rate.outbound_write / MB for rate in _rates(fours)]
    data = [
        _line("bursts of 4", fours, exact, 0),
        _line("bursts of 4 and 8, by the mean burst", eights, [rate.outbound_write / MB for rate in _rates(eights)], 1),
        _line(
            "bursts of 4 and 8, by the burst of a packet",
            eights,
            [(p.estimate.worded or 0) / MB for p in eights],
            2,
            "dash",
        ),
        _line(
            "if bursts stayed at 4",
            sweep.table[:2],
            [rate.outbound_write / MB for rate in _rates(sweep.table[:2])],
            0,
            "dot",
        ),
    ]
    layout = _layout("MB/s", 360)
    x0, x1 = BEFORE / MB, AFTER / MB
    shade = {"type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1, "y0": 0, "y1": 1, "layer": "below"}
    shade |= {"fillcolor": "var(--shade)", "line": {"width": 0}}
    words = {"text": "a peak at 8 appears", "textposition": "bottom center"}
    shade["label"] = words | {"font": {"color": "var(--muted)", "size": 11}}
    drop = {"type": "line", "xref": "x", "yref": "y", "x0": x1, "x1": x1}
    drop |= {
        "y0": data[3]["y"][1],
        "y1": data[1]["y"][0],
        "line": {"color": "var(--interrupted)", "width": 2, "dash": "dot"},
    }
    return {"data": data, "layout": layout | {"shapes": [shade, drop]}}


def wire(sweep: Sweep) -> dict[str, Any]:
    """Both directions with headers, and the capacity of the link for transfers."""
    points = [*sweep.fours, *sweep.eights]
    data = [
        _line("up, to the host", points, [rate.up * BITS / 1e9 for rate in _rates(points)], 0),
        _line("down, to the NIC", points, [rate.down * BITS / 1e9 for rate in _rates(points)], 1),
    ]
    full = sweep.link.usable * BITS / 1e9
    both = [{"pps": 0.0}, {"pps": HIGHEST}]
    limit: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "name": "capacity of the link for transfers",
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
    layout["xaxis"] |= {"title": {"text": "packets per burst"}, "range": [0, 12], "dtick": 4, "showgrid": False}
    layout["yaxis"] |= {"title": {"text": "of the packets"}, "tickformat": ".0%", "range": [0, 1.05]}
    return {"data": data, "layout": layout | {"barmode": "overlay", "showlegend": True}}


def _rates(points: Sequence[Point]) -> list[Cost]:
    """Of points whose packet rate is known, as in every sweep."""
    return [point.estimate.rate for point in points if point.estimate.rate is not None]


def _line(
    name: str, points: Sequence[Point], values: list[float], position: int, dash: str = "solid"
) -> dict[str, Any]:
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
