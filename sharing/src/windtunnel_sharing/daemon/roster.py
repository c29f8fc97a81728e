"""The tenants: what is wanted for each, and which process and threads it has at the moment."""

import os
import time
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from windtunnel.api.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.daemon.autoscale import Memory
from windtunnel_sharing.daemon.bodies import Ns, Report
from windtunnel_sharing.daemon.find_tenant import Found, find, processes_of, tids_of
from windtunnel_sharing.daemon.guests import vcpus
from windtunnel_sharing.daemon.keys import Autoscale, BadValue, TenantKeys, Weight
from windtunnel_sharing.pools.plan import Crew
from windtunnel_sharing.pools.weights import CPU_WEIGHT
from windtunnel_sharing.threads import CannotChange

MOST_NEW = 256
"""Threads that are taken in at once, if they take no longer than a round: nobody is served meanwhile."""
QMP_REST_S = 10.0
LEAST_REST_S, MOST_REST_S = 10.0, 600.0
"""Of a tenant that is left out, until it is tried again."""
BUSY, IDLE = 0.05, 0.02
"""Part of the time on CPUs at which a thread begins and ceases to count as one that wants CPU."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for a tenant. `parked` is a tenant of `ls` that waits with `be` since EXIT. The limits are of the state file, which is checked
    as it is read."""

    pool: Literal["ls", "be"]
    weight: Weight
    least: Weight = 1
    most: Weight | None = None
    cap: Weight | None = None
    slo_ns: Ns | None = None
    parked: bool = False
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid", strict=True)

    @property
    def shares(self) -> bool:
        """It takes part in `ls`."""
        return self.pool == "ls" and not self.parked


def first_wish(keys: TenantKeys) -> Wish:
    return Wish(keys.pool, keys.weight, keys.min, keys.max, keys.cap, keys.slo_p99)


@dataclass(slots=True)
class Tenant:
    """One tenant. Without a process (`pid` is None) its weight is nobody's."""

    name: str
    number: int
    """From 1, as PvCC's clients count."""
    keys: TenantKeys
    wish: Wish
    added: bool = False
    """Through the API: it is forgotten with its process."""
    found: Found | None = None
    processes: dict[int, int] = field(default_factory=dict)
    """Each with its start."""
    pid_fd: int | None = None
    named: int | None = None
    """Start of the process that `keys.pid` named first: the number may be used again, and then it is another one."""
    tids: tuple[int, ...] = ()
    behind: int = 0
    """Threads that it has, too, and that are taken in next."""
    left_out: CannotChange | None = None
    """Why its threads are not shared for now; the kernel refuses it, and the other tenants are none the worse."""
    again_at: float = 0.0
    """By the monotonic clock, when that is tried again."""
    rest_s: float = 0.0
    trouble: str = ""
    """What the last look at it failed at."""
    busy: frozenset[int] = frozenset()
    rule: Autoscale | None = None
    memory: Memory = field(default_factory=Memory)
    told: Report | None = None
    """Its last report."""
    _known: dict[int, bool] = field(default_factory=dict)
    _ran: dict[int, int] = field(default_factory=dict)
    _weighed_at_ns: int = 0
    _ask_again_at: float = 0.0
    """By the monotonic clock, the QMP socket."""
    _vcpus: frozenset[int] | None = None
    """Threads of vCPUs, where its keys name a QMP socket."""

    @property
    def pid(self) -> int | None:
        return self.found.pid if self.found else None

    @property
    def is_sought(self) -> bool:
        """It is not there, and to look for it may take long: all processes of the host are looked at, or a guest is asked, which may be silent."""
        return self.found is None and any((self.keys.command, self.keys.unit, self.keys.qmp))

    @property
    def takes_part(self) -> bool:
        """It has a process that is shared, or is to be."""
        return self.found is not None and self.left_out is None

    def leave_out(self, why: CannotChange) -> None:
        """For a while, which is longer each time."""
        self.left_out = why
        self.rest_s = min(MOST_REST_S, 2 * self.rest_s or LEAST_REST_S)
        self.again_at = time.monotonic() + self.rest_s

    @property
    def crew(self) -> Crew:
        return Crew(self.name, self.tids, self.busy)

    @property
    def usable(self) -> int:
        """The most weight that it can use: a CPU for each thread."""
        return CPU_WEIGHT * max(1, len(self.tids))

    @property
    def most(self) -> int:
        """The most weight that it can have: what was set, else what it can use."""
        return self.wish.most or self.usable

    def look(self, base: Path, taken: Container[int] = (), room: int = MOST_NEW) -> bool:
        """Finds its processes and threads; `taken` are processes of other tenants, `room` is for new threads. Returns whether anything is
        different. Raises UserError as `find`."""
        if self.found is None and not self._arrive(find(self.keys, base), base):
            return False
        assert self.found is not None
        processes = processes_of(self.found, self.keys, self.processes)
        self.processes = {pid: started for pid, started in processes.items() if pid not in taken}
        tids = tids_of(self.processes, self.keys.threads, self._known)
        if self._vcpus is not None:
            tids = tuple(tid for tid in tids if tid in self._vcpus)
        next_ = [*filterfalse(frozenset(self.tids).__contains__, tids)][room:]
        tids, self.behind = tuple(filterfalse(frozenset(next_).__contains__, tids)), len(next_)
        different, self.tids = tids != self.tids, tids
        return different

    def has(self, tid: int) -> bool:
        """Whether a thread of this number is one of its processes' now."""
        found = threads.stat(tid)
        return (
            found is not None
            and found.pid in self.processes
            and threads.process_started(found.pid) == self.processes[found.pid]
        )

    def leave(self) -> None:
        """Its process has ended."""
        if self.pid_fd is not None:
            os.close(self.pid_fd)
        self.found = self.pid_fd = self.left_out = None
        self.rest_s = 0.0
        self.processes = {}
        self.tids, self.behind, self.busy = (), 0, frozenset()
        self._known, self._ran = {}, {}

    def weigh(self, now_ns: int) -> bool:
        """Finds out which of its threads want CPU, by their CPU time since the last call. Returns True if the set changed."""
        interval_ns, self._weighed_at_ns = max(1, now_ns - self._weighed_at_ns), now_ns
        ran = {tid: threads.cpu_ns(tid) for tid in self.tids}
        part = {tid: (time - self._ran[tid]) / interval_ns for tid, time in ran.items() if tid in self._ran}
        self._ran = ran
        busy = frozenset(tid for tid, used in part.items() if used >= (IDLE if tid in self.busy else BUSY))
        different, self.busy = busy != self.busy, busy
        return different

    def _arrive(self, found: Found | None, base: Path) -> bool:
        if found is None:
            return False
        if self.keys.pid is not None:
            if self.named not in (None, found.started):
                return False
            self.named = found.started
        self._vcpus = self._ask_for_vcpus(base / self.keys.qmp, found.pid) if self.keys.qmp else None
        try:
            self.pid_fd = os.pidfd_open(found.pid)
        except OSError as error:
            raise UserError(f"{self.name}: process {found.pid} cannot be watched: {error.strerror}") from None
        if not found.lives:  # it has ended since it was found, and its number may be another process's
            self.leave()
            return False
        self.found = found
        return True

    def _ask_for_vcpus(self, socket: Path, pid: int) -> frozenset[int]:
        """Of its process. A guest that does not respond is not asked again for a while: the daemon waits for the response."""
        user = threads.user(pid)
        if user is None:
            raise UserError(f"{self.name}: process {pid} has ended")
        now = time.monotonic()
        if now < self._ask_again_at:
            raise UserError(f"{socket}: no QMP server a moment ago")
        self._ask_again_at = now + QMP_REST_S
        found = frozenset(vcpus(self.name, socket, user).values())
        self._ask_again_at = 0.0
        return found

    def asked(self, before: Wish, changes: Mapping[str, Any]) -> Wish:
        """A wish after changes; who changes the weight takes a parked tenant back. Raises BadValue."""
        wish = replace(before, **changes)
        if "weight" in changes and wish.parked:
            wish = replace(wish, parked=False)
        most = wish.most or max(self.usable, wish.least)
        if wish.least > most:
            raise BadValue(f"{self.name}: min {wish.least} is above max {most}")
        if not wish.least <= wish.weight <= most:
            what = "max" if wish.most else f"{CPU_WEIGHT} for each of its {max(1, len(self.tids))} threads"
            raise BadValue(
                f"{self.name}: a weight of {wish.weight} is not between {wish.least} and {most} ({what})",
                remedy=f"{CPU_WEIGHT} is one CPU",
            )
        return wish
