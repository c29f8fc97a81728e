"""Points that a model is fitted to: identical tenants that share one core, with their measurements."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.model.record import Part

TRIALS, FIGURE = "trials.jsonl", "figure.json"
OWN = {"slicer", "tenants", "slice_ns", "service_ns", "rate", "served", "p99_ns"}
OF_FIGURE = {"tenants", "slice_us", "load", "offered_per_s", "served_per_s", "p99_ns", "own_share", "excluded"}
"""Keys that identify a row."""
MOST_POINTS = 10_000
LEAST_OWN_SHARE = 0.95
"""Of the tenants' core; below it a point measures other threads."""
HELP = "windtunnel share fit --live measures points on this host"


class Point(Part):
    """One setting, measured once. Rates are requests a second of each tenant."""

    slicer: str
    tenants: int = Field(ge=1)
    slice_ns: int = Field(ge=1)
    service_ns: int = Field(ge=0)
    working_set: int = Field(0, ge=0, description="bytes of each tenant")
    rate: float = Field(ge=0, description="offered")
    served: float = Field(ge=0)
    p99_ns: float | None = Field(description="from the intended moment to the end of service; null: nothing was served")
    own_share: float | None = Field(None, description="the tenants' part of what ran on their core; null: not told")

    @property
    def setting(self) -> tuple[str, int, int, int, int, float]:
        return self.slicer, self.tenants, self.slice_ns, self.service_ns, self.working_set, self.rate


def read(path: Path) -> tuple[list[Point], list[str]]:
    """Points of a file of JSON lines, or of the `trials.jsonl` in a directory (of `share fit --live --keep`, or of Fig. 10); and what was
    left out, in words.

    Raises UserError where it cannot be read, or holds no point.
    """
    file = path / TRIALS if path.is_dir() else path
    lines = _text(file).splitlines()
    if len(lines) > MOST_POINTS:
        raise UserError(f"{file}: {len(lines)} points", remedy=f"at most {MOST_POINTS}")
    slicer = _slicer(path) if path.is_dir() else None
    points = [point for number, line in enumerate(lines, 1) if (point := _point(file, number, line, slicer))]
    return kept(points, str(file))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{file}: cannot be read: {words}", remedy=HELP) from None


def _slicer(path: Path) -> str | None:
    """The slicer of a figure, from its figure.json; None where it is missing."""
    try:
        setting = json.loads(_text(path / FIGURE))["setting"]
        return str(setting["slicer"]).split()[0].rstrip(",:;")
    except (UserError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def kept(points: Sequence[Point], name: str) -> tuple[list[Point], list[str]]:
    """Without points on whose core other threads ran. Raises UserError where none is left."""
    good = [p for p in points if p.own_share is None or p.own_share >= LEAST_OWN_SHARE]
    said = []
    if len(good) < len(points):
        said.append(
            f"{len(points) - len(good)} points excluded: other threads had more than {1 - LEAST_OWN_SHARE:.0%} of the core"
        )
    if not good:
        raise UserError(f"{name}: no points of tenants that share a core", remedy=HELP)
    return good, said


def _point(file: Path, number: int, line: str, slicer: str | None) -> Point | None:
    """None for a row of another kind: a figure's directory holds all of its trials."""
    try:
        row = json.loads(line)
        if isinstance(row, dict) and slicer and row.keys() >= OF_FIGURE:
            row = _of_figure(row, slicer)
        if not isinstance(row, dict) or not row.keys() >= OWN:
            return None
        return Point.model_validate({name: row[name] for name in Point.model_fields if name in row})
    except (ValueError, TypeError, RecursionError) as error:
        words = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else "not JSON"
        raise UserError(f"{file}:{number}: {words}", remedy=HELP) from None


def _of_figure(row: dict[str, Any], slicer: str) -> dict[str, Any] | None:
    """A trial of Fig. 10: its load is a share of what the service alone would allow, so the service follows from the rate. None: excluded."""
    tenants, load, offered = row["tenants"], row["load"], row["offered_per_s"]
    if row["excluded"] is not None or not tenants or not load or not offered:
        return None
    service_ns = round(load * 1e9 / offered, -2)
    return row | {
        "slicer": slicer,
        "slice_ns": int(row["slice_us"] * 1000),
        "service_ns": int(service_ns),
        "rate": load * 1e9 / service_ns / tenants,
        "served": row["served_per_s"] / tenants,
    }
