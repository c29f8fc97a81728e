"""Slicers on a native process: what it does needs microseconds; who may, and that it is put back, is looked after here."""

import contextlib
import os
from typing import Any, ClassVar

from windtunnel.engine.lines import Histogram
from windtunnel.errors import UserError
from windtunnel.sharing import sched, threads
from windtunnel.sharing.native import SLICER, Native
from windtunnel.sharing.slicers import warnings
from windtunnel.sharing.slicers.readings import MemberReading, SliceReading
from windtunnel.sharing.slicers.slicer import Member, Slicer, SlicerJournal, check_members, check_slice
from windtunnel.sharing.slicers.weights import Steps, steps
from windtunnel.sharing.threads import Value

ORDINARY = (sched.OTHER, 0, 0)
RAISED = (sched.FIFO, 1, sched.RESET_ON_FORK)
"""raised_priority of slicers/task.h."""


class CoreSlicer(Slicer):
    """`mechanism` is what the native process does; `raises`: it makes members SCHED_FIFO for a while."""

    mechanism: ClassVar[str] = "watch"
    raises: ClassVar[bool] = False

    def __init__(self, journal: SlicerJournal):
        super().__init__(journal)
        self.cpu = -1
        self.slice_ns = 0
        self._members: list[Member] = []
        self._steps: dict[int, Steps] = {}
        self._native: Native | None = None
        self._broken: str | None = None
        self._said: list[str] = []

    @classmethod
    def missing(cls, cpu: int) -> str | None:
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
        """Who is new is changed; of the others only steps that are different go into the journal, before they may be given."""
        check_members(members)
        new = {member.tid for member in members} - self._steps.keys()
        for member in members:
            if member.tid in new or not _lives(member.tid):
                threads.check(member.tid)
        native = self._running()
        found, self._said = steps([member.weight for member in members])
        now = {member.tid: step for member, step in zip(members, found, strict=True)}
        before = dict(self._steps)
        for tid in new:
            self._take(tid, now[tid])
        self.journal.allow_all(
            {tid: {"nice": _nices(step, before.get(tid, step))} for tid, step in now.items() if before.get(tid) != step}
        )
        self._members, self._steps = members, now
        native.ask(
            {
                "do": "members",
                "members": [
                    {"tid": one.tid, "weight": one.weight, "nice_high": step.high + 20, "nice_low": step.low + 20}
                    for one, step in zip(members, found, strict=True)
                ],
            }
        )
        for tid in before.keys() - now.keys():
            self._said += self.journal.put_back(tid)

    def set_slice(self, slice_ns: int) -> None:
        check_slice(slice_ns)
        self._running().ask({"do": "slice", "slice_ns": slice_ns})
        before, self.slice_ns = self.runtime_ns(self.slice_ns), slice_ns
        if self.runtime_ns(slice_ns) != before:
            for member in self._members:
                with contextlib.suppress(UserError):  # it has ended, and leaves with the next members
                    self.journal.change(member.tid, runtime_ns=self.runtime_ns(slice_ns))

    def read(self) -> SliceReading:
        seen = self._running().ask({"do": "read"})
        interval = seen["interval_ns"]
        ran = sum(one["ran_ns"] for one in seen["members"])
        weights = sum(one.weight for one in self._members)
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
                entitled=member.weight / weights,
                share=one["ran_ns"] / ran if ran else None,
            )
            for one, member in zip(seen["members"], self._members, strict=True)
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
        if self._native is not None:
            self._native.close()
            self._native = None
        self._leave()

    def _take(self, tid: int, step: Steps) -> None:
        """A new member. Raises UserError with the thread as it was."""
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
            raise UserError(
                f"{self.name} on CPU {self.cpu} has ended: {self._broken}",
                remedy="its members run as before; start it again",
            )
        if self._native is None:
            raise UserError(f"{self.name} is not started")
        return self._native

    def _break(self, how: str) -> None:
        """The native process has ended by itself, or was killed: its members run as before."""
        self._broken = how
        self._leave()

    def _leave(self) -> None:
        for tid in list(self._steps):
            self.journal.put_back(tid)
        self._members, self._steps = [], {}


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
