"""Points that a model is fitted to: tenants that share one core, all alike, and what was measured of them."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.model.record import Part

TRIALS = "trials.jsonl"
MOST_POINTS = 10_000
LEAST_OWN_SHARE = 0.95
"""Of the tenants' core; a point below it is about the neighbours."""
HELP = "windtunnel share fit --live measures its own"


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
    def setting(self) -> tuple:
        return self.slicer, self.tenants, self.slice_ns, self.service_ns, self.working_set, self.rate


def read(path: Path) -> tuple[list[Point], list[str]]:
    """Points of a file of JSON lines, or of the `trials.jsonl` in a directory; and what was left out, in words.

    Raises UserError where it cannot be read, or holds no point.
    """
    file = path / TRIALS if path.is_dir() else path
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UserError(f"{file}: cannot be read: {words}", remedy=HELP) from None
    if len(lines) > MOST_POINTS:
        raise UserError(f"{file}: {len(lines)} points", remedy=f"at most {MOST_POINTS}")
    points = [point for number, line in enumerate(lines, 1) if (point := _point(file, number, line))]
    return kept(points, str(file))


def kept(points: Sequence[Point], name: str) -> tuple[list[Point], list[str]]:
    """Without those on whose core somebody else ran. Raises UserError where none is left."""
    good = [p for p in points if p.own_share is None or p.own_share >= LEAST_OWN_SHARE]
    said = []
    if len(good) < len(points):
        said.append(
            f"{len(points) - len(good)} points left out: others had more than {1 - LEAST_OWN_SHARE:.0%} of the core"
        )
    if not good:
        raise UserError(f"{name}: no point of tenants that share a core", remedy=HELP)
    return good, said


def _point(file: Path, number: int, line: str) -> Point | None:
    """None for a row of another kind: a figure's directory holds all of its trials."""
    try:
        row = json.loads(line)
        if not isinstance(row, dict) or not {"slicer", "tenants", "slice_ns", "rate", "p99_ns"} <= row.keys():
            return None
        return Point.model_validate({name: row[name] for name in Point.model_fields if name in row})
    except (ValueError, RecursionError) as error:
        words = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else "not JSON"
        raise UserError(f"{file}:{number}: {words}", remedy=HELP) from None
