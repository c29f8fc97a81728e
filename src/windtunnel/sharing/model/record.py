"""A fitted model of sharing as a file: its form, its held-out errors, and its provenance.

History of the record's version:
1  one slicer on one core, tenants alike: capacity and p99
"""

import json
from collections.abc import Sequence
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
    """One setting, and its prediction by a model that was not fitted to it. Rates are of each tenant."""

    point: Point = Field(description="medians of its measurements")
    p99_ns: float | None = Field(description="predicted; null: overload, or not predictable without this point")
    peak: float | None = Field(description="predicted requests a second, for a point of overload; null: no overload")


class Errors(Part):
    """Shares. null: no held-out points."""

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
        """The machine of the refill's equation."""
        return Machine(l2_bytes=self.l2_bytes)

    def of(self, draw: Sequence[float | None] | None = None) -> tuple[Capacity, P99]:
        """The fitted numbers, or those of one of the bootstrap's fits."""
        fitted = {one.name: one.value for one in [*self.capacity, *self.p99]}
        if draw is not None:
            fitted = {name: value for name, value in zip(NAMES, draw, strict=True) if value is not None}
        if missing := [name for name in NAMES if name not in fitted and name not in OPTIONAL]:
            raise UserError(f"the model has no parameter {missing[0]}", remedy=HELP)
        capacity = Capacity(fitted["slice_ns"], fitted["request_ns"], fitted.get("refill"))
        p99 = P99(
            turns=fitted["turns"],
            unordered=fitted.get("unordered"),
            queue=fitted["queue"],
            service=fitted["service"],
            fixed_ns=fitted["fixed_ns"],
        )
        return capacity, p99

    def bounds(self) -> tuple[int, int]:
        """The shortest and the longest slice that was measured, ns."""
        slices = [one.point.slice_ns for one in self.held]
        return min(slices), max(slices)


NAMES = ("slice_ns", "request_ns", "refill", "turns", "unordered", "queue", "service", "fixed_ns")
OPTIONAL = ("refill", "unordered")
"""What some points do not determine."""


def read(path: Path) -> SharingModel:
    """Raises UserError for a file that is not a model of sharing, or one of another version."""
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        words = error.strerror if isinstance(error, OSError) else "not JSON"
        raise UserError(f"{path}: cannot be read: {words}", remedy=HELP) from None
    if not isinstance(document, dict) or document.get("kind") != "sharing":
        raise UserError(f"{path}: not a model of sharing", remedy=HELP)
    if document.get("version") != VERSION:
        raise UserError(
            f"{path}: model of version {document.get('version')}, this windtunnel reads version {VERSION}",
            remedy="fit it again, or use the version of windtunnel that wrote it",
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
            remedy="windtunnel share fit --live on this host, or accept this model with --allow-other-host",
        )
