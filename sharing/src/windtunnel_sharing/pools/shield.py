"""The cgroup that keeps neighbours off the tenants' time, and caps.

A slicer makes tenants take turns; it does not keep others off their CPU (measured: one busy neighbour takes half, in the shield 0.3%).
The shield is a cgroup with the greatest weight there is. Where a tenant of `ls` has a cap, each gets a group of its own within
it, with its weight and its quota, since a thread and a group do not divide by nice.

v1 takes single threads. v2 takes whole processes: their other threads come along, and are as shielded.
"""

import contextlib
import errno
import os
import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from windtunnel.api.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.families import granted
from windtunnel_sharing.pools.cgroups import Hierarchy
from windtunnel_sharing.pools.remove_groups import swept
from windtunnel_sharing.pools.weights import CPU_WEIGHT
from windtunnel_sharing.threads import Process

PREFIX, TENANT = "windtunnel-share-", "tenant-"
"""Of the names of shields, and of the groups of tenants within."""
MOST_SHARES, MOST_V2 = 262_144, 10_000
"""cpu.shares of v1, cpu.weight of v2 (kernel: MAX_SHARES, CGROUP_WEIGHT_MAX)."""
SHARES_A_WEIGHT, V2_A_WEIGHT = 4, 4
"""1024 shares are 256 of ours; in v2 the smallest step is 1, and 4 a weight reaches 2500."""
LEAST_QUOTA_US, MOST_PERIOD_US = 1_000, 1_000_000
"""Of the kernel's bandwidth controller."""
RT_LEFT_US = 10_000
"""Of the real-time budget of cgroup v1 (cpu.rt_runtime_us, in each second): left to others."""
LEAST_RT_US = 900_000
"""With 400,000 the p99 of 4 tenants was 1.1 ms instead of 0.56: the kernel stops SCHED_FIFO members that have used their budget up."""
RT_RUNTIME, RT_PERIOD = "cpu.rt_runtime_us", "cpu.rt_period_us"
RESTORING_S, LOOK_S = 2.0, 0.02
"""A guardian, whose journal may be where nobody looks for it, needs milliseconds; between two looks."""
DYING_S = 1.0
"""The budget of a group that was removed is free again after some milliseconds."""
_NAME = re.compile(rf"{PREFIX}(\d+)-(\d+)")
UNCAPPED = "a cap does not hold for tenants that are SCHED_FIFO, as this slicer makes them"
OTHER_SLICER = "no caps, or a slicer without SCHED_FIFO members: kicker-far, kicker"


class NoRealTime(UserError):
    """The host has no real-time budget for a shield whose slicer makes tenants SCHED_FIFO."""


class Places(Protocol):
    """Of windtunnel_sharing.changed_threads.Journal, what is needed here."""

    def change(self, tid: int, cgroups: dict[str, str] | None = None) -> None: ...


@dataclass(frozen=True)
class Cap:
    """What a tenant of the shield has of its own: weight and cap, both in weight."""

    weight: int
    cap: int | None


class Shield:
    """The groups of this process. `raises`: of a slicer that makes members SCHED_FIFO.

    Raises UserError where they cannot be made; then there is none of them.
    """

    def __init__(self, hierarchy: Hierarchy, raises: bool = False):
        self._hierarchy = hierarchy
        self._places: Places | None = None
        self._base = own_group(hierarchy.mount)
        self._raises = False
        self._tenants: dict[str, Cap] = {}
        self._in: dict[int, str] = {}
        self._left: set[str] = set()
        """Groups of tenants that have left, in which somebody is still."""
        try:
            if hierarchy.version == 2:
                _enable(hierarchy.mount)
            _remove(self._base)
            self._begin(raises)
        except NoRealTime:
            _remove(self._base)
            raise
        except OSError as error:
            with contextlib.suppress(OSError):
                _remove(self._base)
            raise UserError(
                f"{self._base}: cannot make a shield: {os.strerror(error.errno or 0)}",
                remedy="run as root, or set `shield = false`: then other processes use a part of the CPUs of ls",
            ) from None

    def _begin(self, raises: bool) -> None:
        make_group(self._base)
        self._weigh(self._base, MOST_SHARES, MOST_V2)
        self._raises, self._tenants, self._in, self._left = False, {}, {}, set()
        self.serve_slicer(raises)

    @property
    def path(self) -> Path:
        return self._base

    def enters_through(self, places: Places) -> None:
        """What remembers where threads were: to be called before `hold`."""
        self._places = places

    def serve_slicer(self, raises: bool) -> None:
        """For a slicer that makes members SCHED_FIFO, or one that does not. Raises NoRealTime, OSError; UserError where there are caps."""
        if raises and self._tenants:
            raise UserError(UNCAPPED, remedy=OTHER_SLICER)
        real_time = self._hierarchy.version == 1 and (self._hierarchy.mount / RT_RUNTIME).exists()
        if raises and not self._raises and real_time:
            _give_real_time(self._base)
        self._raises = raises

    def hold(self, groups: Mapping[int, str], caps: Mapping[str, Cap]) -> None:
        """Lets exactly these threads in; those that left are put where they were by who took them out. Makes a group again that somebody has
        removed: one without threads can be. Raises OSError, UserError."""
        own = caps if any(cap.cap for cap in caps.values()) else {}
        if own and self._raises:
            raise UserError(UNCAPPED, remedy=OTHER_SLICER)
        if not self._base.is_dir():
            self._begin(self._raises)
        for name, cap in own.items():
            missing = not self._group(name).is_dir()
            if missing:
                self._split()
                make_group(self._group(name))
                self._in = {tid: where for tid, where in self._in.items() if where != name}
            if missing or self._tenants.get(name) != cap:
                self._limit(self._group(name), cap)
        for tid, name in groups.items():
            where = name if name in own else ""
            if self._in.get(tid) != where:
                self._enter(tid, where)
        self._in = {tid: name if name in own else "" for tid, name in groups.items()}
        self._left |= self._tenants.keys() - own.keys()
        self._tenants = dict(own)
        self.tidy()

    def tidy(self) -> None:
        """Removes the groups of tenants that have left. One in which somebody is still, who could not be put back, or has been forked there, stays
        until the next time: it must not stop what is changed of the others."""
        self._left = {name for name in self._left - self._tenants.keys() if not _is_removed(self._group(name))}

    def forget(self, tid: int) -> None:
        """A restored thread is no longer in the shield."""
        self._in.pop(tid, None)

    def occupants(self) -> tuple[str, list[int]]:
        """The hierarchy, and the threads that are in the shield now, whoever put them there."""
        return self._hierarchy.key, threads_within(self._base)

    def outside(self) -> list[int]:
        """Threads that were let in, live, and are not there: they have moved themselves, or have taken the number of one by an exec."""
        inside = set(threads_within(self._base))
        return [tid for tid in self._in if tid not in inside and _lives(tid)]

    def swept(self, last: ExitStack | None = None) -> AbstractContextManager[None]:
        """Entered with root rights; at every exit, also by a kill, the groups are removed. `last`: of `remove_groups.swept`."""
        return swept(self._base, last)

    def _enter(self, tid: int, where: str) -> None:
        assert self._places is not None
        path = "/" + str(self._group(where).relative_to(self._hierarchy.mount))
        self._places.change(tid, cgroups={self._hierarchy.key: path})

    def _group(self, name: str) -> Path:
        """Of a tenant; of all that have no group of their own for "". The kernel has files there, and one may be called as a tenant is."""
        return self._base / f"{TENANT}{name}" if name else self._base

    def _split(self) -> None:
        if self._hierarchy.version == 2:  # processes live in leaves
            _enable(self._base)

    def _weigh(self, group: Path, shares: int, weight: int) -> None:
        if self._hierarchy.version == 1:
            _write(group / "cpu.shares", min(MOST_SHARES, max(2, shares)))
        else:
            _write(group / "cpu.weight", min(MOST_V2, max(1, weight)))

    def _limit(self, group: Path, cap: Cap) -> None:
        self._weigh(group, cap.weight * SHARES_A_WEIGHT, cap.weight * V2_A_WEIGHT)
        quota, period = bandwidth(cap.cap)
        if self._hierarchy.version == 1:
            _write(group / "cpu.cfs_period_us", period)
            _write(group / "cpu.cfs_quota_us", -1 if quota is None else quota)
        else:
            _write(group / "cpu.max", f"{'max' if quota is None else quota} {period}")


def bandwidth(cap: int | None) -> tuple[int | None, int]:
    """Quota and period in us: the shortest period whose quota the kernel takes, since a tenant that used it up waits for the next."""
    if cap is None:
        return None, 100_000
    period = min(MOST_PERIOD_US, max(LEAST_QUOTA_US, -(-LEAST_QUOTA_US * CPU_WEIGHT // cap)))
    return period * cap // CPU_WEIGHT, period


def _give_real_time(group: Path) -> None:
    """All of the budget that no other group has, but RT_LEFT_US. Raises NoRealTime, OSError."""
    period, everything = _number(group.parent / RT_PERIOD), _number(group.parent / RT_RUNTIME)
    _write(group / RT_PERIOD, period)
    deadline = time.monotonic() + DYING_S
    while time.monotonic() < deadline:
        others = [other for other in group.parent.iterdir() if other.is_dir() and other != group]
        free = everything - sum(_number(other / RT_RUNTIME) for other in others) - RT_LEFT_US
        if everything < 0 or free * 1_000_000 >= LEAST_RT_US * period:
            try:
                _write(group / RT_RUNTIME, free if everything >= 0 else everything)
                return
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        time.sleep(LOOK_S)
    raise NoRealTime(
        f"{group.parent}: other groups have too much of the real-time runtime of {everything} us; a slicer with SCHED_FIFO members needs "
        f"{LEAST_RT_US} us of each second",
        remedy="a slicer without SCHED_FIFO members (kicker-far, kicker), or `shield = false`",
    )


def _number(path: Path) -> int:
    """0 where there is no such file any more."""
    try:
        return int(path.read_text())
    except OSError:
        return 0


def clean(hierarchy: Hierarchy) -> list[Path]:
    """Removes groups that somebody left behind who was killed, once nothing is in them. Returns those that it removed. The shield of
    another daemon or study that lives may be empty at the moment, and stays."""
    left = left_behind(hierarchy)
    for path in left:
        with contextlib.suppress(OSError):
            _remove(path)
    return [path for path in left if not path.exists()]


def left_behind(hierarchy: Hierarchy) -> list[Path]:
    """The groups whose makers have ended."""
    found = [path for path in hierarchy.mount.glob(f"{PREFIX}*") if path.is_dir()]
    makers = {path: _NAME.fullmatch(path.name) for path in found}
    return sorted(path for path, maker in makers.items() if maker and not Process(*map(int, maker.groups())).stays)


def evacuate(hierarchy: Hierarchy, group: Path) -> list[int]:
    """Moves the threads in a group that somebody left behind, and in those within it, to the root, once nobody restores them any more, and
    takes from them what not everybody may have. Returns those that it moved."""
    deadline = time.monotonic() + RESTORING_S
    while (inside := threads_within(group)) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    moved = []
    for tid in inside:
        with contextlib.suppress(OSError):
            now = threads.read(tid)
            if less := {name: value for name, value in granted(now).items() if value != now[name]}:
                threads.write(tid, less)
            threads.move(tid, hierarchy.key, "/")
            moved.append(tid)
    return moved


def _lives(tid: int) -> bool:
    """False also for one that cannot be looked at: the others are let in again."""
    with contextlib.suppress(OSError, ValueError):
        return threads.started(tid) is not None
    return False


def threads_within(base: Path) -> list[int]:
    """The threads in a group, and in those within it."""
    return [tid for where, _, _ in os.walk(base) for tid in threads.tasks_of(Path(where))]


def own_group(mount: Path) -> Path:
    """Where this process has its group: the name ends with its number and its start."""
    me = Process.of(os.getpid())
    return mount / f"{PREFIX}{me.pid}-{me.started}"


def _enable(group: Path) -> None:
    control = group / "cgroup.subtree_control"
    if "cpu" not in control.read_text().split():
        _write(control, "+cpu")


def make_group(group: Path) -> None:
    """Makes a cgroup if it is missing, for its owner alone: whoever may read a directory can keep its lock, on which all who look there wait in
    the kernel, by getdents64 into memory of a file system of their own that does not answer (FUSE)."""
    group.mkdir(mode=0o700, exist_ok=True)


def _remove(group: Path) -> None:
    """A cgroup and those within; its files go with it. Raises OSError where somebody is in it."""
    if not group.is_dir():
        return
    for inner in [path for path in group.iterdir() if path.is_dir()]:
        _remove(inner)
    try:
        group.rmdir()
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise


def _is_removed(group: Path) -> bool:
    try:
        _remove(group)
    except OSError:
        return False
    return True


def _write(path: Path, value: int | str) -> None:
    with path.open("w") as file:  # "w" makes no file in a cgroup: where the kernel has none, this fails
        file.write(str(value))
