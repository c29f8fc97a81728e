"""The data that a form is fitted to: costs at sizes of a table, and the caches of the host that they were measured on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from windtunnel.host.ladder import Ladder
from windtunnel.parts.models.arrays import Floats, Mask
from windtunnel.parts.models.table_settings import is_of_fixed_depth, touched


class NoFit(Exception):
    """These points do not determine a form. `args[0]` says why, for the user."""


@dataclass(frozen=True, eq=False)
class Points:
    """Arrays of one length, by ascending entries, every entry once. Two with the same values are equal."""

    entries: Floats
    bytes: Floats
    """Working set of the table at these entries: what its lookups choose among."""
    ns: Floats
    """Cost of a packet: the median of the runs at these entries."""

    def __len__(self) -> int:
        return len(self.entries)

    def _values(self) -> tuple[Any, ...]:
        return self.entries.tobytes(), self.bytes.tobytes(), self.ns.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Points) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def where(self, chosen: Mask) -> "Points":
        return Points(self.entries[chosen], self.bytes[chosen], self.ns[chosen])

    def only(self, index: int) -> Mask:
        mask: Mask = np.arange(len(self)) == index
        return mask

    def without(self, index: int) -> "Points":
        return self.where(~self.only(index))


@dataclass(frozen=True, eq=False)
class World:
    """What is known before anything is fitted: the host's caches from its ladder (nothing from lscpu), and the table. Each is equal to itself
    alone."""

    steps: Sequence[float] = ()
    """Bytes at which each level but the last ends: the last end is fitted."""
    rung_bytes: Sequence[float] = ()
    rung_ns: Sequence[float] = ()
    """The ladder itself; empty if there is none."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """The table from `own_settings`; empty if it is not known."""

    def with_table(self, table: Mapping[str, Any]) -> Self:
        return replace(self, table=table)

    @property
    def has_ladder(self) -> bool:
        return len(self.rung_bytes) > 1

    @property
    def levels_off(self) -> bool:
        """Whether every cost has a limit: the ladder has the furthest memory, and the loads of a lookup have a limit."""
        return self.has_ladder and is_of_fixed_depth(self.table)

    def touched(self, entries: Floats) -> list[Floats] | None:
        return touched(self.table, np.asarray(entries, float))

    def load_ns(self, bytes_: Floats) -> Floats:
        """Time in ns of a load that waits, in memory of this size: between rungs by ratios, beyond them that of the nearest."""
        sizes, ns = np.asarray(self.rung_bytes, float), np.maximum.accumulate(np.asarray(self.rung_ns, float))
        return np.exp(np.interp(np.log(np.maximum(bytes_, 1.0)), np.log(sizes), np.log(ns)))


def world_of(ladder: Ladder | None) -> World:
    """The ladder as forms use it. The end of a level after the last rung but one was not measured."""
    if ladder is None:
        return World()
    steps = [float(step) for step in ladder.steps()]
    return World(steps[:-1], [float(rung.bytes) for rung in ladder.rungs], [rung.ns for rung in ladder.rungs])
