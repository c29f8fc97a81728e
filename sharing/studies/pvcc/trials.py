"""What every trial of a figure leaves: a row, and whether somebody else was on the cores meanwhile."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from pydantic import Field

from windtunnel.api.errors import Finding
from windtunnel.api.settings import Part

POLL_MODE = "poll mode of its own"
LEAST_OWN_SHARE = 0.95
"""Of the tenants' core; below it a trial says more of the neighbours than of the slices."""
LONGEST_GAP_NS = 20_000_000
"""In which the client may not have looked at the clock."""


class Row(Part):
    """One trial. Figures add their factors (names first) and their measures."""

    block: int
    position: int
    """In the block, from 1: the order that was drawn."""
    arm: str
    arrivals: Literal["client", "inside", "closed loop"]
    """client: by the open-loop client on another core; inside: made by the tenant itself, no network at all."""
    mode: str
    """How the tenants wait for work: blocking, always polling by a shim, or in a poll mode of their own."""
    own_share: float | None
    """Of the time in which the tenants' core ran anything, the tenants' part."""
    excluded: str | None
    """Why verdicts exclude it; null: included. Decided by what the host did, never by the results."""
    findings: list[Finding] = Field(default_factory=list)
    """What the diagnosis says of a core that was sliced."""

    def cells(self) -> list[Any]:
        """For the table: a finding is its code and its evidence."""
        said = [f"{finding.code}: {finding.evidence}" for finding in self.findings]
        return list((self.model_dump() | {"findings": said}).values())


@dataclass(frozen=True)
class Arm:
    """One kind of trial: a value for each factor."""

    factors: tuple[tuple[str, Any], ...]

    def __getitem__(self, factor: str) -> Any:
        return dict(self.factors)[factor]

    @property
    def label(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.factors)


def exclusion_reason(own_share: float | None, gap_ns: int | None = None) -> str | None:
    """Why a trial is excluded; None: it is included."""
    if own_share is not None and own_share < LEAST_OWN_SHARE:
        return f"other threads had {1 - own_share:.0%} of the tenants' core"
    if gap_ns is not None and gap_ns > LONGEST_GAP_NS:
        return f"the client did not run for {gap_ns / 1e6:.0f} ms"
    return None


def pairs(
    rows: Sequence[Row], a: Callable[[Any], bool], b: Callable[[Any], bool], value: Callable[[Any], float | None]
) -> tuple[list[float], list[float]]:
    """The values of two arms by block, of those blocks in which neither was excluded and both have one."""

    def by_block(chosen: Callable[[Any], bool]) -> dict[int, float]:
        values = {row.block: value(row) for row in rows if chosen(row) and row.excluded is None}
        return {block: v for block, v in values.items() if v is not None}

    of_a, of_b = by_block(a), by_block(b)
    both = sorted(of_a.keys() & of_b.keys())
    return [of_a[block] for block in both], [of_b[block] for block in both]


def values(rows: Iterable[Row], chosen: Callable[[Any], bool], value: Callable[[Any], float | None]) -> list[float]:
    """The values of an arm's included trials."""
    found = (value(row) for row in rows if chosen(row) and row.excluded is None)
    return [v for v in found if v is not None]


def spread(found: Sequence[float]) -> tuple[float, float, float] | None:
    """Median, least and greatest; None of nothing."""
    return (median(found), min(found), max(found)) if found else None
