"""Marks in the plots of a study: values that a reader compares a curve with, each a thin line with its name in the legend and its source in the
caption.

A mark stands upright at a value of a factor, or lies at a value of a metric. Parts have marks of their own (`study_blocks.marks`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.measure.study.columns import has_metrics
from windtunnel.measure.study.study import Study
from windtunnel.part_registry import part_functions
from windtunnel.results.charts.layout import label_text
from windtunnel.runs import Run, load
from windtunnel.runs.metrics import measured

ETHERNET_BYTES = 24
"""What a frame takes of a line beside its bytes without FCS: FCS 4, preamble and delimiter 8, gap 12 (IEEE 802.3)."""
FARTHEST = 3
"""Times the highest point. A mark above that is named and not drawn, because it would flatten the curves."""
_DASHES = ("dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True)
class Mark:
    """One value that is marked."""

    name: str
    source: str
    """What it is made from: for the caption."""
    over: str = ""
    """Name of the factor at whose value `at` it stands."""
    metrics: frozenset[str] = frozenset()
    """Metrics at whose value `at` it lies."""
    at: float = 0.0
    only: dict[str, Any] = field(default_factory=dict)
    """Cells of the points that it is of, by factor; empty: of all."""


def marks_of(study: Study) -> list[Mark]:
    """All marks of a study: the line rate, and what each part marks."""
    return [*_line_rate(study), *(mark for marks in part_functions("study_blocks", "marks") for mark in marks(study))]


def first_runs(study: Study) -> dict[int, Run]:
    """Point -> the first of its runs that has metrics, if its directory is there. Raises UserError for one that is damaged."""
    places = {row["point"]: row["directory"] for row in reversed(study.blocked.rows) if has_metrics(row)}
    return {
        point: load(study.path / place)
        for point, place in sorted(places.items())
        if (study.path / place / "run.json").is_file()
    }


def line_rate_mpps(bits_per_s: float, frame_bytes: float) -> float:
    """Packets that a link carries, in Mpps. `frame_bytes`: without FCS; 60 are the smallest frame of Ethernet, of which 10 Gbit/s carry 14.88
    Mpps."""
    return bits_per_s / 8 / (frame_bytes + ETHERNET_BYTES) / 1e6


def _line_rate(study: Study) -> Iterator[Mark]:
    """The line rate of the link that the study names, or that its scenario emulates, if all points have the same frames and link."""
    runs = list(first_runs(study).values())
    links = {study.record.line_rate or _emulated(run) for run in runs}
    frames = {_frame_bytes(run) for run in runs}
    if len(links) != 1 or len(frames) != 1:
        return
    (link,), (frame,) = links, frames
    if link is None or frame is None:
        return
    rate = line_rate_mpps(link, frame)
    of = "that the study names" if study.record.line_rate else "that the scenario emulates"
    source = f"line rate: {link / 1e9:g} Gbit/s / 8 / ({frame:g} + {ETHERNET_BYTES} bytes) = {rate:.4g} Mpps, of the link {of}"
    both = frozenset(
        f"{side}_{name}" for side in ("client", "server") for name in ("rx_mpps", "tx_mpps", "derived_mpps")
    )
    yield Mark("line rate", source, metrics=both, at=rate)


def _emulated(run: Run) -> float | None:
    """Bits a second of the emulated link."""
    links = [end.port.link for engine in run.record.engines for end in engine.plan.endpoints]
    return next((link.bits_per_s for link in links if link), None)


def _frame_bytes(run: Run) -> float | None:
    """Mean bytes of a frame that the server received, without FCS, to a tenth; None if it received none."""
    ports = [
        port
        for windows in run.counted.values()
        for window in measured(windows)
        for port in window.ports
        if port.endpoint == "server"
    ]
    packets = sum(port.rx_packets for port in ports)
    return round(sum(port.rx_bytes for port in ports) / packets, 1) if packets else None


def across(marks: Sequence[Mark], factor: str, values: Sequence[float]) -> list[Mark]:
    """Those that stand at a value of a factor, between the least and the greatest of these."""
    return [mark for mark in marks if mark.over == factor and min(values) <= mark.at <= max(values)]


def along(marks: Sequence[Mark], metric: str, highest: float) -> list[Mark]:
    """Those that lie at a value of a metric, and have room in a plot up to `highest`."""
    return [mark for mark in marks if metric in mark.metrics and mark.at <= FARTHEST * highest]


def shapes(upright: Sequence[Mark], flat: Sequence[Mark], axes: str = "", legend: bool = True) -> list[dict[str, Any]]:
    """The marks as shapes of plotly on the axes of this number; `legend`: with entries there."""
    drawn = []
    for n, mark in enumerate(upright):
        place = {"x0": mark.at, "x1": mark.at, "xref": f"x{axes}", "y0": 0, "y1": 1, "yref": f"y{axes} domain"}
        drawn.append(_line(mark, n, "var(--ink)", legend) | place)
    for n, mark in enumerate(flat):
        place = {"y0": mark.at, "y1": mark.at, "yref": f"y{axes}", "x0": 0, "x1": 1, "xref": f"x{axes} domain"}
        drawn.append(_line(mark, n, "var(--muted)", legend) | place)
    return drawn


def _line(mark: Mark, position: int, colour: str, legend: bool) -> dict[str, Any]:
    line = {"color": colour, "width": 1.5, "dash": _DASHES[position % len(_DASHES)]}
    name = label_text(mark.name)
    return {"type": "line", "line": line, "layer": "below", "name": name, "legendgroup": name, "showlegend": legend}


def in_layout(drawn: list[dict[str, Any]]) -> dict[str, Any]:
    """What shapes change of a layout: nothing without any."""
    return {"shapes": drawn} if drawn else {}
