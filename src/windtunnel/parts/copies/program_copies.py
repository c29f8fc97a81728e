"""What a program copied: counters of its threads and sizes, and the time of its copies by those that were timed."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from windtunnel.errors import UserError
from windtunnel.parts.copies.program_page import BY_CPU_TIME, FUNCTIONS, GROUPS, SIZES, Page, Size, Thread
from windtunnel.parts.copies.program_run import Ended
from windtunnel.stats.mean import Estimate, jackknife

LEAST_TIMED = 2
"""Timed copies of a size that is estimated by itself; with fewer it is estimated with the next one."""
LEAST_CPU_NS = 100_000_000
"""Of a thread whose share of CPU time in copies is shown: its CPU time is known to some 10 ms."""
READINGS = 20
"""Of a row that says what cannot be, at most: of 206 programs that ran on, one needed a second one."""
COUNTERS = (
    "copies",
    "bytes",
    "source_on_line",
    "destination_on_line",
    "source_on_page",
    "destination_on_page",
    "overlapping",
    "interrupted",
)


@dataclass(frozen=True)
class SizeCounts:
    """Copies of 2^(number - 1) bytes up to twice as much, or of 0 bytes."""

    number: int
    copies: int
    bytes: int
    source_on_line: int
    destination_on_line: int
    source_on_page: int
    destination_on_page: int
    overlapping: int
    interrupted: int
    """Timed copies that took longer than any copy: they are in no time."""
    timed: tuple[tuple[int, float], ...]
    """Copies of each group, and the ns that they took, without what their measurement took."""

    @property
    def least_bytes(self) -> int:
        return 1 << self.number - 1 if self.number else 0

    @property
    def mean_bytes(self) -> float:
        return self.bytes / self.copies

    @property
    def timed_copies(self) -> int:
        return sum(copies for copies, _ in self.timed)

    @property
    def ns_per_copy(self) -> float | None:
        """None: too few were timed."""
        if self.timed_copies < LEAST_TIMED:
            return None
        return max(0.0, sum(ns for _, ns in self.timed) / self.timed_copies)

    @property
    def all_timed(self) -> bool:
        return self.timed_copies + self.interrupted >= self.copies


@dataclass(frozen=True)
class ThreadCounts:
    """The copies of a thread."""

    process: int
    thread: int
    """0: threads that found no row of their own."""
    program: str
    name: str
    cpu_ns: int
    """Up to one of its last timed copies."""
    calls: tuple[int, ...]
    """As FUNCTIONS."""
    own_ns: float
    """What the library took of it."""
    sizes: tuple[SizeCounts, ...]
    """Those that it copied, ascending."""

    @property
    def copies(self) -> int:
        return sum(size.copies for size in self.sizes)

    @property
    def bytes(self) -> int:
        return sum(size.bytes for size in self.sizes)


@dataclass(frozen=True)
class ProgramCopies:
    """What a program and its children copied."""

    command: tuple[str, ...]
    ended: Ended
    processes: int
    """Programs that began with the library."""
    rows_missing: int
    """Threads that found no row of their own."""
    early: int
    """Copies before the library was ready: in no other counter."""
    threads: tuple[ThreadCounts, ...]
    """Most bytes first."""

    @cached_property
    def sizes(self) -> tuple[SizeCounts, ...]:
        """Of all threads."""
        return tuple(_together(size for thread in self.threads for size in thread.sizes))

    @property
    def copies(self) -> int:
        return sum(size.copies for size in self.sizes)

    @property
    def bytes(self) -> int:
        return sum(size.bytes for size in self.sizes)

    @property
    def calls(self) -> dict[str, int]:
        return {name: sum(thread.calls[n] for thread in self.threads) for n, name in enumerate(FUNCTIONS)}

    @property
    def own_s(self) -> float:
        """CPU time that the library took."""
        return sum(thread.own_ns for thread in self.threads) / 1e9

    @property
    def cpu_s(self) -> float | None:
        """CPU time without the library's own. None: it is not known."""
        rest = self.ended.cpu_s - self.own_s
        return None if self.ended.still_running or rest <= 0 else rest

    @cached_property
    def share(self) -> Estimate | None:
        """The share of CPU time in copies. None: too few copies were timed, or the CPU time is not known."""
        return None if self.cpu_s is None else _scaled(ns_of(self.sizes), 1 / self.cpu_s / 1e9)


def thread_share(thread: ThreadCounts) -> Estimate | None:
    """The share of a thread's CPU time in copies, as `ProgramCopies.share`."""
    rest = thread.cpu_ns - thread.own_ns
    if thread.cpu_ns < LEAST_CPU_NS or rest <= 0:
        return None
    return _scaled(ns_of(thread.sizes), 1 / rest)


def ns_of(sizes: Sequence[SizeCounts]) -> Estimate | None:
    """CPU time of all copies in ns, and the interval of what timing only some of them leaves open: each group of timed copies is a random sample of its
    own, and the jackknife leaves out one after the other (K. M. Wolter, "Introduction to Variance Estimation", 1985, chapter 2). Sizes whose
    copies were all timed leave nothing open. None: fewer than two copies were timed."""
    return jackknife(range(GROUPS), lambda groups: _total(sizes, groups))


def read_copies(page: Page, command: Sequence[str], ended: Ended, tsc_hz: float) -> ProgramCopies:
    """What is in the page at the end. Raises UserError for counters that cannot be: a program may write into its page."""
    head = page.head()
    threads = [_read(page, number, ended.names, 1e9 / tsc_hz) for number in range(page.rows())]
    return ProgramCopies(
        command=tuple(command),
        ended=ended,
        processes=head.processes,
        rows_missing=max(0, head.threads - len(threads)),
        early=head.early,
        threads=tuple(sorted(threads, key=lambda thread: -thread.bytes)),
    )


def _read(page: Page, number: int, names: dict[tuple[int, int], str], tick_ns: float) -> ThreadCounts:
    """A row whose thread still copies may be read between two of its counters, and then says what cannot be: it is read again."""
    for _ in range(READINGS - 1):
        with contextlib.suppress(UserError):
            return _thread(page.thread(number), names, tick_ns)
    return _thread(page.thread(number), names, tick_ns)


def _thread(row: Thread, names: dict[tuple[int, int], str], tick_ns: float) -> ThreadCounts:
    sizes = tuple(_size(number, row.size[number], tick_ns) for number in range(SIZES) if row.size[number].copies)
    copies, timed = sum(size.copies for size in sizes), row.own.timed
    if timed > copies:
        raise _impossible(f"{timed} of {copies} calls were timed")
    counting = (row.own.counted_ticks - row.own.empty_ticks) / timed if timed else 0.0
    program = row.program.decode(errors="replace")
    return ThreadCounts(
        process=row.process,
        thread=row.thread,
        program=program,
        name=names.get((row.process, row.thread), program),
        cpu_ns=row.cpu_ns,
        calls=tuple(row.calls),
        own_ns=(row.own.ticks + max(0.0, counting) * (copies - timed)) * tick_ns + row.own.ns,
        sizes=sizes,
    )


def _size(number: int, size: Size, tick_ns: float) -> SizeCounts:
    counters = {name: getattr(size, name) for name in COUNTERS}
    unit_ns = tick_ns if number < BY_CPU_TIME else 1.0
    timed = tuple((group.copies, (group.time - group.empty) * unit_ns) for group in size.timed)
    counted = SizeCounts(number=number, timed=timed, **counters)
    of_all = {name: counters[name] for name in COUNTERS[2:]} | {"timed": counted.timed_copies + counted.interrupted}
    for name, count in of_all.items():
        if count > counted.copies:
            raise _impossible(f"{name.replace('_', ' ')}: {count} of {counted.copies} copies")
    return counted


def _impossible(why: str) -> UserError:
    return UserError(
        f"the counters of this program say what cannot be: {why}",
        remedy="something in the program writes where it should not, or into the page itself",
    )


def _together(sizes: Iterable[SizeCounts]) -> Iterator[SizeCounts]:
    """One of each size, ascending."""
    by_number: dict[int, list[SizeCounts]] = {}
    for size in sizes:
        by_number.setdefault(size.number, []).append(size)
    for number, same in sorted(by_number.items()):
        counters = {name: sum(getattr(size, name) for size in same) for name in COUNTERS}
        groups = zip(*(size.timed for size in same), strict=True)
        timed = tuple((sum(copies for copies, _ in group), sum(ns for _, ns in group)) for group in groups)
        yield SizeCounts(number=number, timed=timed, **counters)


def _total(sizes: Sequence[SizeCounts], groups: Sequence[int]) -> float | None:
    """CPU time of all copies in ns by these groups of timed ones. Sizes of which too few were timed count with the next smaller one that has enough,
    or the next larger one."""
    total, waiting, last = 0.0, 0, None
    for size in sizes:
        timed = size.timed if size.all_timed else [size.timed[group] for group in groups]
        count = sum(copies for copies, _ in timed)
        if count < LEAST_TIMED:
            if last is None:
                waiting += size.copies
            else:
                total += last * size.copies
            continue
        last = sum(ns for _, ns in timed) / count
        total += last * (size.copies + waiting)
        waiting = 0
    return None if last is None else max(0.0, total)


def _scaled(estimate: Estimate | None, factor: float) -> Estimate | None:
    if estimate is None:
        return None
    low, high = (None if bound is None else max(0.0, bound * factor) for bound in (estimate.low, estimate.high))
    return Estimate(estimate.mean * factor, low, high)
