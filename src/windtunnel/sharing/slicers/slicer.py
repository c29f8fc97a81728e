"""The interface of every slicer: it shares one core among threads by weight, in slices of a length."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Protocol, Self

from windtunnel.errors import UserError
from windtunnel.sharing.slicers.readings import SliceReading
from windtunnel.sharing.threads import Value

CPU_WEIGHT = 256
"""The weight of one whole CPU, as in PvCC."""
MOST_WEIGHT = 1 << 20
LEAST_SLICE_NS, MOST_SLICE_NS = 10_000, 1_000_000_000


@dataclass(frozen=True)
class Member:
    """A thread and its weight."""

    tid: int
    weight: int = CPU_WEIGHT


class SlicerJournal(Protocol):
    """What a slicer needs of `changed_threads.Journal`, whose docstrings describe it."""

    def change(self, tid: int, cgroups: dict[str, str] | None = None, **fields: Value) -> None: ...

    def allow(self, tid: int, **values: list[Value]) -> None: ...

    def allow_all(self, values: Mapping[int, dict[str, list[Value]]]) -> None: ...

    def put_back(self, tid: int) -> list[str]: ...

    def helper(self, pid: int) -> None: ...

    def set_setting(self, path: Path, before: str, to: str) -> None: ...

    def put_settings_back(self) -> list[str]: ...


class Slicer(ABC):
    """Shares one core among members. Changes of a thread go through `journal`, so they are undone when the member leaves, when the
    slicer stops or breaks, and by the journal's guardian when this process is killed.

    Methods raise UserError. Not for several threads at once.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    raises: ClassVar[bool] = False
    """It makes members SCHED_FIFO for a while."""

    def __init__(self, journal: SlicerJournal):
        self.journal = journal

    @classmethod
    @abstractmethod
    def missing(cls, cpu: int) -> str | None:
        """Why it cannot work on this host and CPU; None where it can."""

    @abstractmethod
    def start(self, cpu: int, slice_ns: int) -> None: ...

    @abstractmethod
    def set_members(self, members: list[Member]) -> None:
        """Replaces the members. A member that leaves is restored."""

    @abstractmethod
    def set_slice(self, slice_ns: int) -> None: ...

    @abstractmethod
    def read(self) -> SliceReading:
        """The measurements since the last reading."""

    @abstractmethod
    def stop(self) -> None:
        """Restores every member. May be called again."""

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
