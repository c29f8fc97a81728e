"""A fitted model of sharing as a file: its form, its held-out errors, and its provenance.

History of the record's version:
1  one slicer on one core, tenants alike: capacity and p99
"""

import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.model.record import Parameter, Part
from windtunnel.model.same_host import differences
from windtunnel.sharing.model.form import P99, Capacity
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.simulate.plan import Machine

VERSION: Final = 1
HELP = "windtunnel share fit writes one"


class Held(Part):
    """One setting, and what was said of it by a model that had not seen it. Rates are of each tenant."""

    point: Point = Field(description="medians of its measurements")
    p99_ns: float | None = Field(description="predicted; null: overload, or it cannot be told without this point")
    peak: float | None = Field(description="requests a second, where the point is one of overload; null: it is none")


class Errors(Part):
    """Shares. null: nothing to judge by."""

    mape: float | None
    most: float | None
    within: float | None = Field(description="share of points within the goal")
    points: int


class SharingModel(Part):
    """What `windtunnel share fit` writes."""

    version: Literal[1] = VERSION
    kind: Literal["sharing"] = "sharing"
    source: str = Field(description="directory or file of the points, or live")
    fitted: AwareDatetime
    slicer: str
    host: dict[str, Any]
    versions: dict[str, str]
    l2_bytes: int
    capacity: list[Parameter] = Field(description="slice_ns, request_ns, refill: with 95% intervals by bootstrap")
    p99: list[Parameter] = Field(description="turns, unordered, queue, service, fixed_ns: likewise")
    draws: list[list[float | None]] = Field(description="both of the bootstrap's fits, in that order, for intervals")
    held: list[Held]
    p99_errors: Errors
    peak_errors: Errors
    left_out: list[str]

    @property
    def machine(self) -> Machine:
        """Of the refill's equation."""
        return Machine(l2_bytes=self.l2_bytes)

    def of(self, draw: list[float | None] | None = None) -> tuple[Capacity, P99]:
        """The fitted numbers, or those of one of the bootstrap's fits."""
        named = {one.name: one.value for one in [*self.capacity, *self.p99]}
        values = [named.get(name) for name in NAMES] if draw is None else draw
        return Capacity(*values[:3]), P99(*values[3:])

    def bounds(self) -> tuple[int, int]:
        """The shortest and the longest slice that was measured, ns."""
        slices = [one.point.slice_ns for one in self.held]
        return min(slices), max(slices)


NAMES = ("slice_ns", "request_ns", "refill", "turns", "unordered", "queue", "service", "fixed_ns")


def read(path: Path) -> SharingModel:
    """Raises UserError where the file is no model of sharing, or one of another version."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        words = error.strerror if isinstance(error, OSError) else "not JSON"
        raise UserError(f"{path}: cannot be read: {words}", remedy=HELP) from None
    if not isinstance(document, dict) or document.get("kind") != "sharing":
        raise UserError(f"{path}: no model of sharing", remedy=HELP)
    if document.get("version") != VERSION:
        raise UserError(
            f"{path}: model of version {document.get('version')}, this windtunnel reads version {VERSION}",
            remedy="fit it anew, or take the windtunnel that wrote it",
        )
    try:
        return SharingModel.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UserError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}", remedy=HELP) from None


def refuse_other_host(model: SharingModel, here: dict[str, Any], name: str) -> None:
    """Raises UserError where the model was measured on another host than this one."""
    if apart := differences(model.host, here):
        raise UserError(
            f"{name}: measured on another host: {'; '.join(apart)}",
            remedy="windtunnel share fit --live here, or ask for it all the same with --allow-other-host",
        )
