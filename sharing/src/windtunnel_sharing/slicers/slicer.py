"""Slicers: each shares one core among threads by weight, in slices of a length.

What it does needs microseconds: a native process does it. Who may, and that it is put back, is looked after here.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from windtunnel.api.errors import UserError
from windtunnel.api.histograms import Histogram
from windtunnel_sharing import sched, threads
from windtunnel_sharing.native import SLICER, Native, Silent, ThreadRefused
from windtunnel_sharing.slicers import warnings
from windtunnel_sharing.slicers.readings import MemberReading, SliceReading
from windtunnel_sharing.slicers.weights import LEAST_NICE, Steps, steps
from windtunnel_sharing.threads import Value

CPU_WEIGHT = 256
"""The weight of one whole CPU, as in PvCC."""
MOST_WEIGHT = CPU_WEIGHT * 4096
"""Of one tenant, wherever it runs: no machine has more CPUs."""
LEAST_SLICE_NS, MOST_SLICE_NS = 10_000, 1_000_000_000
ORDINARY = (sched.OTHER, 0, 0)
RAISED = (sched.FIFO, sched.RAISED_PRIORITY, sched.RESET_ON_FORK)
ALWAYS = 0.9
"""Of the interval runnable: it wanted all that it could get (slicers/balance.cc)."""
LEAST_INTERVAL_NS = 100_000_000
"""In which that can be told: the kernel counts what a thread waited when it runs again."""
RESPONSE_S = 1.0
"""For the response to a command. A slicer that is silent for so long hangs, or was stopped: it is killed."""


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


class Slicer:
    """Shares one core among members. Changes of a thread go through `journal`, so they are undone when the member leaves, when the
    slicer stops or breaks, and by the journal's guardian when this process is killed.

    Methods raise UserError. Not for several threads at once.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    mechanism: ClassVar[str] = "watch"
    """What the native process does."""
    raises: ClassVar[bool] = False
    """It makes members SCHED_FIFO for a while."""

    def __init__(self, journal: SlicerJournal, turn_cost_ns: int = 0, least_nice: int = LEAST_NICE):
        """`turn_cost_ns`: what a turn loses, however long it is. A rotor adds it to each, so that weights hold for what is left. `least_nice`:
        no member gets a lower nice value."""
        self.journal = journal
        self.least_nice = least_nice
        self.turn_cost_ns = turn_cost_ns
        self.cpu = -1
        self.slice_ns = 0
        self._members: list[Member] = []
        self._steps: dict[int, Steps] = {}
        self._started: dict[int, int] = {}
        self._native: Native | None = None
        self._broken: UserError | None = None
        self._said: list[str] = []

    @classmethod
    def missing(cls, cpu: int) -> str | None:
        """Why it cannot work on this host and CPU; None where it can."""
        if cpu not in os.sched_getaffinity(0):
            return f"CPU {cpu} is not one that this process may use"
        return None

    @property
    def pid(self) -> int:
        """Of the native process, for who accounts its CPU time. Raises UserError where it is not started."""
        return self._running().pid

    def runtime_ns(self, slice_ns: int) -> int:
        """The slice that each member asks the kernel for; 0: the default one."""
        return 0

    def plan(self) -> dict[str, Any]:
        """For the native process."""
        return {
            "mechanism": self.mechanism,
            "cpu": self.cpu,
            "from_cpu": self.cpu,
            "slice_ns": self.slice_ns,
            "turn_cost_ns": self.turn_cost_ns,
        }

    def start(self, cpu: int, slice_ns: int) -> None:
        """Raises UserError where it is missing here, or not permitted."""
        check_slice(slice_ns)
        why = self.missing(cpu)
        if why is not None:
            raise UserError(f"{self.name}: {why}")
        if self._native is not None:
            raise UserError(f"{self.name} shares CPU {self.cpu} already")
        self.cpu, self.slice_ns, self._broken = cpu, slice_ns, None
        self._native = Native(SLICER, self.plan(), self._break)
        try:
            self.journal.helper(self._native.pid)
            self._hello = self._native.response()
        except (UserError, ProcessLookupError):
            self.stop()
            raise

    def set_members(self, members: list[Member]) -> None:
        """Replaces the members. Who is new is changed; of the others only steps that are different go into the journal, before they may be
        given. A member that leaves is restored."""
        check_members(members)
        new = {member.tid for member in members} - self._steps.keys()
        for member in members:
            if member.tid in new:
                self._started[member.tid] = threads.check(member.tid).started
            elif not _lives(member.tid):
                threads.check(member.tid)
        self._running()
        found, self._said = steps([member.weight for member in members], self.least_nice)
        now = {member.tid: step for member, step in zip(members, found, strict=True)}
        before = dict(self._steps)
        for tid in new:
            self._take(tid, now[tid])
        self.journal.allow_all(
            {tid: {"nice": _nices(step, before.get(tid, step))} for tid, step in now.items() if before.get(tid) != step}
        )
        self._members, self._steps = members, before | now  # who leaves is put back too if it breaks here
        self._ask(
            {
                "do": "members",
                "members": [
                    {
                        "tid": one.tid,
                        "started": self._started[one.tid],
                        "weight": one.weight,
                        "nice_high": step.high + 20,
                        "nice_low": step.low + 20,
                    }
                    for one, step in zip(members, found, strict=True)
                ],
            }
        )
        self._steps = now
        self._started = {tid: self._started[tid] for tid in now}
        for tid in before.keys() - now.keys():
            self._said += self.journal.put_back(tid)

    def set_slice(self, slice_ns: int) -> None:
        check_slice(slice_ns)
        self._ask({"do": "slice", "slice_ns": slice_ns})
        before, self.slice_ns = self.runtime_ns(self.slice_ns), slice_ns
        if self.runtime_ns(slice_ns) != before:
            for member in self._members:
                with contextlib.suppress(UserError):  # it has ended, and leaves with the next members
                    self.journal.change(member.tid, runtime_ns=self.runtime_ns(slice_ns))

    def read(self) -> SliceReading:
        """The measurements since the last reading."""
        asked = (
            self._members
        )  # the thread that hears of the native process's end takes them away, after its last response too
        seen = self._ask({"do": "read"})
        interval = seen["interval_ns"]
        ran = sum(one["ran_ns"] for one in seen["members"])
        turns = sum(one["slices"] or 0 for one in seen["members"])
        histograms = {
            name: Histogram.model_validate(seen[name]) if seen[name] else None for name in ("slice", "gap", "late")
        }
        sliced = histograms["slice"]
        mean = sliced.sum / sliced.total if sliced and sliced.total else ran / turns if turns else None
        members = [
            MemberReading(
                **one,
                weight=member.weight,
                entitled=due,
                share=one["ran_ns"] / ran if ran else None,
            )
            for one, member, due in zip(seen["members"], asked, _entitled(seen, asked), strict=True)
        ]
        reading = SliceReading(
            cpu=self.cpu,
            slice_ns=self.slice_ns,
            interval_ns=interval,
            source=seen["source"],
            **histograms,
            mean_slice_ns=mean,
            kicks=seen["kicks"],
            own_share=(ran if seen["own_ns"] is None else seen["own_ns"]) / interval,
            others_share=None if seen["others_ns"] is None else seen["others_ns"] / interval,
            lost_records=seen["lost_records"],
            members=members,
            warnings=[],
        )
        return reading.model_copy(
            update={"warnings": self._said + warnings.about(reading, seen["why"], self._hello["apart"])}
        )

    def stop(self) -> None:
        """Restores every member. May be called again."""
        if self._native is not None:
            self._native.close(RESPONSE_S)
            self._native = None
        self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _take(self, tid: int, step: Steps) -> None:
        """A new member. Raises UserError with the thread as it was."""
        if self.raises and threads.has_time_limit(tid):
            raise threads.CannotChange(
                tid,
                f"thread {tid} has a limit of real-time CPU time (RLIMIT_RTTIME), at which the kernel would end its process: {self.name} makes it real-time",
                "a slicer that does not, as kicker, or no limit (LimitRTTIME=infinity)",
            )
        runtime = self.runtime_ns(self.slice_ns)
        try:
            if self.raises:
                self.journal.allow(tid, policy=[ORDINARY, RAISED])
            self.journal.change(tid, affinity=(self.cpu,), nice=step.high, runtime_ns=runtime, policy=ORDINARY)
            if self.raises:
                self.journal.allow_all({tid: {"policy": [ORDINARY, RAISED]}})
        except UserError:
            self.journal.put_back(tid)
            raise
        self._steps[tid] = step

    def _running(self) -> Native:
        if self._broken is not None:
            words = f"{self.name} on CPU {self.cpu} has ended: {self._broken.message}"
            if isinstance(self._broken, ThreadRefused):
                raise ThreadRefused(self._broken.tid, words, self._broken.remedy)
            raise UserError(words, remedy="its members run as before; start it again")
        if self._native is None:
            raise UserError(f"{self.name} is not started")
        return self._native

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Raises UserError where it has ended, or is silent; then it is killed, and its members run as before."""
        native = self._running()
        try:
            return native.ask(command, RESPONSE_S)
        except Silent as error:
            native.close(0)
            self._break(error)
            raise

    def _break(self, how: UserError) -> None:
        """The native process has ended by itself, or was killed: its members run as before."""
        self._broken = how
        self._leave()

    def _leave(self) -> None:
        for tid in list(self._steps):
            self.journal.put_back(tid)
        self._members, self._steps, self._started = [], {}, {}


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


def _entitled(seen: dict[str, Any], members: list[Member]) -> list[float | None]:
    """Those that wanted the core all the time divide by weight what the others left. Who cannot be told is one of them."""
    interval = seen["interval_ns"]
    wanted = [
        one["waited_ns"] is None
        or interval < LEAST_INTERVAL_NS
        or one["ran_ns"] + one["waited_ns"] >= ALWAYS * interval
        for one in seen["members"]
    ]
    ran = sum(one["ran_ns"] for one in seen["members"])
    theirs = sum(one["ran_ns"] for one, wants in zip(seen["members"], wanted, strict=True) if wants)
    weights = sum(member.weight for member, wants in zip(members, wanted, strict=True) if wants)
    return [
        member.weight / weights * theirs / ran if wants and ran else None
        for member, wants in zip(members, wanted, strict=True)
    ]


def _lives(tid: int) -> bool:
    """Whether there is such a thread; one system call, no file."""
    try:
        os.getpriority(os.PRIO_PROCESS, tid)
    except ProcessLookupError:
        return False
    return True


def _nices(step: Steps, before: Steps) -> list[Value]:
    """Those that a member has, or will have."""
    return sorted({before.high, before.low, step.high, step.low})
