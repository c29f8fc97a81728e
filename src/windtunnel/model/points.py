"""What a form is fitted to: costs at sizes of a table, and the caches of the host that they were measured on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from windtunnel.model.table_settings import is_of_fixed_depth, touched


class NoFit(Exception):
    """A form that these points do not determine. `args[0]` says why, in words for the user."""


@dataclass(frozen=True)
class Points:
    """Arrays of one length, by ascending entries, every entry once."""

    entries: np.ndarray
    bytes: np.ndarray
    """Working set of the table at these entries: what its lookups choose among."""
    ns: np.ndarray
    """Cost of a packet: the median of the runs at these entries."""

    def __len__(self) -> int:
        return len(self.entries)

    def where(self, chosen: np.ndarray) -> "Points":
        return Points(self.entries[chosen], self.bytes[chosen], self.ns[chosen])

    def without(self, index: int) -> "Points":
        return self.where(np.arange(len(self)) != index)


@dataclass(frozen=True)
class World:
    """What is known before anything is fitted: the host's caches, as its ladder has them (nothing from lscpu), and the table."""

    steps: Sequence[float] = ()
    """Bytes at which a level ends, the last one's end left out of it: that one is fitted."""
    rung_bytes: Sequence[float] = ()
    rung_ns: Sequence[float] = ()
    """The ladder itself; empty where there is none."""
    table: Mapping[str, Any] = field(default_factory=dict)
    """As `own_settings` has it; empty where it is not known."""

    def of(self, table: Mapping[str, Any]) -> Self:
        return replace(self, table=table)

    @property
    def has_ladder(self) -> bool:
        return len(self.rung_bytes) > 1

    @property
    def levels_off(self) -> bool:
        """Whether no cost can rise for ever: the furthest memory is in the ladder, and a lookup goes there so many times at most."""
        return self.has_ladder and is_of_fixed_depth(self.table)

    def touched(self, entries: np.ndarray) -> list[np.ndarray] | None:
        return touched(self.table, np.asarray(entries, float))

    def load_ns(self, bytes_: np.ndarray) -> np.ndarray:
        """ns of a load that waits, among so many bytes: between rungs by ratios, beyond them that of the nearest."""
        sizes, ns = np.asarray(self.rung_bytes, float), np.maximum.accumulate(np.asarray(self.rung_ns, float))
        return np.exp(np.interp(np.log(np.maximum(bytes_, 1.0)), np.log(sizes), np.log(ns)))
