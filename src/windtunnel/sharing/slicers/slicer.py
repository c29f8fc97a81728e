"""What every slicer can do: share one core among threads by weight, in slices of a length."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Self

from windtunnel.errors import UserError
from windtunnel.sharing.changed_threads import Journal
from windtunnel.sharing.slicers.readings import SliceReading

CPU_WEIGHT = 256
"""The weight of one whole CPU, as PvCC has it."""
MOST_WEIGHT = 1 << 20
LEAST_SLICE_NS, MOST_SLICE_NS = 10_000, 1_000_000_000


@dataclass(frozen=True)
class Member:
    """A thread and its weight."""

    tid: int
    weight: int = CPU_WEIGHT


class Slicer(ABC):
    """Shares one core among members. What it changes of a thread goes through `journal`, so that it is put back when the member
    leaves, when the slicer stops or breaks, and by the journal's guardian when this process is killed.

    Methods raise UserError in words. Not for several threads at once.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, journal: Journal):
        self.journal = journal

    @classmethod
    @abstractmethod
    def missing(cls, cpu: int) -> str | None:
        """Why it cannot work on this host and CPU; null where it can."""

    @abstractmethod
    def start(self, cpu: int, slice_ns: int) -> None: ...

    @abstractmethod
    def set_members(self, members: list[Member]) -> None:
        """Replaces the members. Who leaves is put back."""

    @abstractmethod
    def set_slice(self, slice_ns: int) -> None: ...

    @abstractmethod
    def read(self) -> SliceReading:
        """What was seen since the last reading."""

    @abstractmethod
    def stop(self) -> None:
        """Puts every member back. May be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def check_slice(slice_ns: int) -> None:
    if not LEAST_SLICE_NS <= slice_ns <= MOST_SLICE_NS:
        raise UserError(
            f"a slice of {slice_ns} ns", remedy=f"from {LEAST_SLICE_NS // 1000} us to {MOST_SLICE_NS // 10**9} s"
        )


def check_members(members: list[Member]) -> None:
    for member in members:
        if not 1 <= member.weight <= MOST_WEIGHT:
            raise UserError(
                f"thread {member.tid}: a weight of {member.weight}",
                remedy=f"from 1 to {MOST_WEIGHT}; {CPU_WEIGHT} is one CPU",
            )
    tids = Counter(member.tid for member in members)
    if len(tids) < len(members):
        twice = min(tid for tid, times in tids.items() if times > 1)
        raise UserError(f"thread {twice} is a member twice")
