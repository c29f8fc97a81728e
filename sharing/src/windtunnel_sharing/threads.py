"""A thread of this machine: its identity, where and how it runs, and how to change that.

The kernel uses a thread's number again after its end; the number and the start time together are unique.
"""

import contextlib
import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from windtunnel.api.errors import UserError, in_words
from windtunnel.api.host import cpu_list, proc
from windtunnel_sharing import sched

PROC = Path("/proc")
CPUS = Path("/sys/devices/system/cpu")
MOST_NAME = 15
"""Bytes of a name that the kernel keeps."""
TICKS = os.sysconf("SC_CLK_TCK")
Value = tuple[int, ...] | int | str
"""Of one field: CPUs, (policy, priority, flags), nice, slice or timer slack in ns, or the path of a cgroup."""
Fields = dict[str, Value]
"""`affinity`, `policy`, `nice`, `runtime_ns`, `timer_slack_ns`, and `cgroup HIERARCHY` for each (`cgroup ` is v2's, `cgroup cpu` one of v1)."""
CGROUP = "cgroup "
TIMER_SLACK = "timer_slack_ns"
KERNEL_THREAD, EXITING = 0x00200000, 0x00000004
"""PF_KTHREAD and PF_EXITING (include/linux/sched.h): anybody may give a process of theirs the name of the kernel's."""
DAC_OVERRIDE = 1 << 1
"""CAP_DAC_OVERRIDE among the effective capabilities of /proc/PID/status."""
KILLED = 1 << 8
"""SIGKILL among the pending signals of /proc/PID/status."""
DYING_S, LOOK_S = 2.0, 0.002
"""For the end of a process that was killed; between two looks."""


class CannotChange(UserError):
    """One thread cannot be changed, or shared: the others can."""

    def __init__(self, tid: int, message: str, remedy: str | None = None):
        super().__init__(message, remedy)
        self.tid = tid


class Ended(UserError):
    """A thread has ended; another one may have its number by now."""

    def __init__(self, tid: int, message: str = "", remedy: str | None = None):
        super().__init__(message or f"thread {tid} has ended", remedy)
        self.tid = tid


@contextlib.contextmanager
def of_one(tid: int) -> Iterator[None]:
    """Whatever goes wrong with one thread, foreseen or not, concerns it alone: raises Ended or CannotChange, or the UserError that it was."""
    try:
        yield
    except ProcessLookupError:
        raise Ended(tid) from None
    except UserError:
        raise
    except Exception as error:
        raise CannotChange(tid, f"thread {tid}: {_words_of(error)}") from error


def _words_of(error: Exception) -> str:
    try:
        with in_words():
            raise error
    except UserError as told:
        return told.message


@dataclass(frozen=True)
class Stat:
    """Of /proc/TID/task/TID/stat: process, parent, start in clock ticks since boot. `kernel`: a thread of the kernel's. `users`: the real, the
    effective and the saved one."""

    pid: int
    parent: int
    started: int
    kernel: bool
    users: tuple[int, ...] = ()

    @property
    def user(self) -> int | None:
        """The real one, which no set-user-ID program changes."""
        return self.users[0] if self.users else None


def stat(tid: int) -> Stat | None:
    """Of a thread; None where it does not exist, or is a zombie."""
    return _stat(tid, _thread_ended)


def process_stat(pid: int) -> Stat | None:
    """Of a process; None where it does not exist, or all its threads have ended. The first of them may end, and the others go on."""
    return _stat(pid, _process_ended)


def started(tid: int) -> int | None:
    """The start of a thread alone, from one file instead of the two of `stat`."""
    return _started(tid, _thread_ended)


def process_started(pid: int) -> int | None:
    """The start of a process alone."""
    return _started(pid, _process_ended)


def _stat(tid: int, ended: Callable[[list[str]], bool]) -> Stat | None:
    try:
        fields, status = _fields(tid), _text(tid, "status")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if ended(fields):
        return None
    pid, users = proc.value(status, "Tgid"), proc.value(status, "Uid")
    assert pid is not None and users is not None, "every kernel says it"
    kernel, three = bool(int(fields[6]) & KERNEL_THREAD), tuple(map(int, users.split()[:3]))
    return Stat(int(pid), int(fields[1]), int(fields[19]), kernel, three)


def _started(tid: int, ended: Callable[[list[str]], bool]) -> int | None:
    try:
        fields = _fields(tid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if ended(fields) else int(fields[19])


def _thread_ended(fields: list[str]) -> bool:
    return fields[0] in "ZX"


def _process_ended(fields: list[str]) -> bool:
    """Of the first thread: it stays as a zombie while others live, which are counted (num_threads)."""
    return fields[0] in "ZX" and int(fields[17]) < 2


@dataclass(frozen=True)
class Process:
    """A process, told by its start from a later one of its number."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Process":
        """Raises ProcessLookupError where it does not exist."""
        found = process_started(pid)
        if found is None:
            raise ProcessLookupError(f"no process {pid}")
        return cls(pid, found)

    @property
    def lives(self) -> bool:
        return process_started(self.pid) == self.started

    @property
    def stays(self) -> bool:
        """Whether it lives, and nobody has killed it. Waits for the end of one that was: that takes a while on a CPU that others have, and
        it counts as living until then."""
        deadline = time.monotonic() + DYING_S
        while self.lives and _killed(self.pid) and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return self.lives


def _killed(pid: int) -> bool:
    try:
        status, flags = _text(pid, "status"), int(_fields(pid)[6])
    except (FileNotFoundError, ProcessLookupError):
        return True
    pending = (int(proc.value(status, name) or "0", 16) for name in ("SigPnd", "ShdPnd"))
    return bool(flags & EXITING) or any(signals & KILLED for signals in pending)


def user(pid: int) -> int | None:
    """Number of the user who started a process, which a set-user-ID program does not change; None where it has ended."""
    try:
        real = proc.value(_text(pid, "status"), "Uid")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(real.split("\t")[0]) if real else None


def name(tid: int) -> str:
    """Empty where it has ended."""
    try:
        return _text(tid, "comm").rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def cpu_ns(tid: int) -> int:
    """Its time on CPUs since its start; 0 where it has ended, or the kernel does not tell."""
    try:
        return int(_text(tid, "schedstat").split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def is_busy(tid: int) -> bool:
    """Whether it runs, or waits for a CPU, or within the kernel for what soon comes, as a fork waits for a change of cgroups. False where it
    sleeps, or has ended."""
    try:
        return _fields(tid)[0] in "RD"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _fields(tid: int) -> list[str]:
    """Of /proc/TID/stat, from the third on. Below task/, where it is not summed up over all threads of the process: that takes 100 us with
    thousands of them."""
    text = _text(tid, f"task/{tid}/stat")
    return text[text.rindex(")") + 2 :].split()


def _text(tid: int, name: str) -> str:
    return proc.text(f"{PROC}/{tid}/{name}")


def ticks_now() -> int:
    """Now, in the unit of /proc/PID/stat."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) * TICKS // 10**9


def has_time_limit(tid: int) -> bool:
    """Whether the process of a thread has a bound of the CPU time that it may use as real-time (RLIMIT_RTTIME): the kernel adds it up over all times at
    which it is, and ends it there."""
    try:
        limits = proc.lines(proc.text(PROC / str(tid) / "limits"))
    except OSError:  # it has ended
        return False
    return any(line.startswith("Max realtime timeout") and "unlimited" not in line[:40] for line in limits)


def pids() -> list[int]:
    """All processes of this machine."""
    return sorted(int(name) for name in os.listdir(PROC) if name.isdecimal())


def threads_of(pid: int) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(PROC / str(pid) / "task"))
    except (FileNotFoundError, ProcessLookupError):
        return []


def children() -> Callable[[int], list[int]]:
    """Finds the child processes of a process: by the kernel (CONFIG_PROC_CHILDREN), else by one scan of all processes now."""
    if (PROC / "self/task" / str(os.getpid()) / "children").exists():
        return _told_children
    found: dict[int, list[int]] = {}
    for pid in pids():
        with contextlib.suppress(OSError):  # it has ended, or is hidden from us
            found.setdefault(int(_fields(pid)[1]), []).append(pid)
    return lambda pid: found.get(pid, [])


def _told_children(pid: int) -> list[int]:
    found: list[int] = []
    for tid in threads_of(pid):
        with contextlib.suppress(OSError):
            found += map(int, proc.text(f"{PROC}/{pid}/task/{tid}/children").split())
    return found


def with_children(pids: Iterable[int], children_of: Callable[[int], Iterable[int]]) -> Iterator[int]:
    """Processes, with all that they started and that these started, each once. `children_of`: from `children`."""
    found = deque(pids)
    seen: set[int] = set()
    while found:
        if (pid := found.popleft()) not in seen:
            seen.add(pid)
            yield pid
            found += children_of(pid)


def cgroups_of(tid: int) -> dict[str, str]:
    """Path by hierarchy, from /proc/TID/cgroup: the controllers of v1, "" for v2."""
    return _hierarchies(_text(tid, "cgroup"))


def _hierarchies(text: str) -> dict[str, str]:
    return {controllers: path for _, controllers, path in (line.split(":", 2) for line in proc.lines(text))}


def read(tid: int) -> Fields:
    """Raises ProcessLookupError where the thread does not exist."""
    try:
        scheduling = _scheduling(tid) | _timer_slack(tid)
        cgroups = cgroups_of(tid)
        affinity = tuple(sorted(os.sched_getaffinity(tid)))
    except FileNotFoundError:
        raise ProcessLookupError(errno.ESRCH, f"no thread {tid}") from None
    return {"affinity": affinity} | scheduling | {CGROUP + controllers: path for controllers, path in cgroups.items()}


def _scheduling(tid: int) -> dict[str, Any]:
    attributes = sched.get(tid)
    # A thread without a custom slice shows the default one; 0 restores it.
    runtime = 0 if attributes.runtime_ns == sched.default_slice_ns() else attributes.runtime_ns
    policy = (attributes.policy, attributes.priority, attributes.flags)
    return {"policy": policy, "nice": attributes.nice, "runtime_ns": runtime}


def _timer_slack(tid: int) -> Fields:
    """Nothing without the right to see it (CAP_SYS_NICE)."""
    try:
        return {TIMER_SLACK: int(_text(tid, "timerslack_ns"))}
    except PermissionError:
        return {}


def write(tid: int, fields: Fields) -> None:
    """Sets `fields` of a thread; the others stay. Raises OSError."""
    affinity = set(numbers(fields, "affinity")) if "affinity" in fields else os.sched_getaffinity(tid)
    hierarchies = {name.removeprefix(CGROUP): str(path) for name, path in fields.items() if name.startswith(CGROUP)}
    for hierarchy, path in hierarchies.items():
        move(tid, hierarchy, path)
    if "affinity" in fields or any("cpuset" in hierarchy.split(",") for hierarchy in hierarchies):
        os.sched_setaffinity(tid, affinity)  # afterwards: moving between cpusets sets it
    if fields.keys() & {"policy", "nice", "runtime_ns"}:
        before = _scheduling(tid)
        now = before | fields
        policy, priority, flags = now["policy"]
        nice, runtime_ns = now["nice"], now["runtime_ns"]
        if policy not in sched.FAIR and (nice, runtime_ns) != (before["nice"], before["runtime_ns"]):
            # The kernel takes these two of a fair thread only; under another policy they wait until it is fair again.
            sched.put(tid, sched.Attributes(sched.OTHER, 0, nice, runtime_ns, flags))
        sched.put(tid, sched.Attributes(policy, priority, nice, runtime_ns, flags))
    if TIMER_SLACK in fields:  # afterwards: a real-time thread takes none
        try:
            (PROC / str(tid) / "timerslack_ns").write_text(str(fields[TIMER_SLACK]))
        except FileNotFoundError:
            raise ProcessLookupError(errno.ESRCH, f"no thread {tid}") from None


def start(thread: threading.Thread) -> None:
    """Raises UserError if this host starts no more threads."""
    try:
        thread.start()
    except RuntimeError:
        remedy = "fewer threads and processes, or more room for them: pids.max of the cgroup, ulimit -u, kernel.pid_max"
        raise UserError("no thread can be started", remedy) from None


def cpu_quota(hierarchy: str, path: str) -> float:
    """CPUs that the threads of a cgroup may use at most, by its own limit and those of the ones above (cpu.max, or cpu.cfs_quota_us of v1);
    infinite without one, and of a hierarchy that has none."""
    try:
        group, mounted = _group(hierarchy, path), mounts()[hierarchy]
    except (OSError, KeyError):
        return inf
    return min((_own_quota(above) for above in (group, *group.parents) if above.is_relative_to(mounted)), default=inf)


def _own_quota(group: Path) -> float:
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with contextlib.suppress(OSError, ValueError):
            quota, period = map(int, " ".join((group / name).read_text() for name in names).split())
            return quota / period if quota >= 0 < period else inf
    return inf


@cache
def possible_cpus() -> tuple[int, ...]:
    """Of this machine, those that may come later too: the mask of a thread that has asked for no CPUs."""
    return _listed("possible")


def permitted(cpus: Iterable[int], fields: Fields) -> tuple[int, ...]:
    """Where a thread with these fields runs that has asked for these CPUs: on those of its cpuset, and on all of that if none of them is in it."""
    inside = _cpuset(fields)
    return tuple(sorted(inside.intersection(cpus) or inside))


def asked(fields: Fields) -> Fields:
    """The fields, with the CPUs that the thread has asked for, which the kernel does not tell. Whoever may run on all CPUs of its cpuset counts
    as one that has asked for none: when the cpuset changes, it follows."""
    every = possible_cpus()
    return fields | {"affinity": every} if fields["affinity"] == permitted(every, fields) else fields


def _cpuset(fields: Fields) -> set[int]:
    """The CPUs of a thread's cpuset; those of this machine if it is in none, or cannot be seen from here."""
    for name, path in fields.items():
        hierarchy = name.removeprefix(CGROUP)
        if name.startswith(CGROUP) and (not hierarchy or "cpuset" in hierarchy.split(",")):
            file = "cpuset.effective_cpus" if hierarchy else "cpuset.cpus.effective"
            with contextlib.suppress(OSError):
                group = _group(hierarchy, str(path))
                for above in (group, *group.parents):  # of v2, only groups that control it have the file
                    with contextlib.suppress(FileNotFoundError):
                        return set(cpu_list(proc.text(above / file)))
    return set(_listed("online"))


def _listed(name: str) -> tuple[int, ...]:
    """The CPUs of one of the kernel's lists; without /sys as many as there are."""
    with contextlib.suppress(OSError):
        return tuple(cpu_list(proc.text(CPUS / name)))
    return tuple(range(os.cpu_count() or 1))


def numbers(fields: Fields, name: str) -> tuple[int, ...]:
    """The value of a field that has several numbers. Raises TypeError for any other."""
    value = fields[name]
    if not isinstance(value, tuple):
        raise TypeError(f"{name} is {value!r}")
    return value


def mounts(process: Path = PROC / "self") -> dict[str, Path]:
    """Where each hierarchy of cgroups is mounted, by its controllers ("" for v2): from mounts and cgroup of a process."""
    paths: dict[str, Path] = {}
    hierarchies = {names: set(names.split(",")) for names in _hierarchies(proc.text(process / "cgroup"))}
    for mount in proc.mounts(process / "mounts"):
        if mount.kind == "cgroup2":
            paths.setdefault("", mount.path)
        if mount.kind == "cgroup":
            for controllers, names in hierarchies.items():
                if controllers and names <= set(mount.options):
                    paths.setdefault(controllers, mount.path)
    return paths


def move(tid: int, hierarchy: str, path: str) -> None:
    """Moves the thread into a cgroup, or its process where a thread cannot move alone (v2, not threaded). Raises OSError."""
    group = _group(hierarchy, path)
    if hierarchy:
        (group / "tasks").write_text(str(tid))
        return
    with contextlib.suppress(OSError):
        (group / "cgroup.threads").write_text(str(tid))
        return
    (group / "cgroup.procs").write_text(str(tid))


def check_place(tid: int, hierarchy: str, path: str) -> None:
    """Raises CannotChange for a thread in a cgroup to which it could not be put back, without the right to everything: one that is another
    user's, or is in one, whatever its mode permits at the moment."""
    group = _group(hierarchy, path)
    file = group / ("tasks" if hierarchy else "cgroup.procs")
    if path == "/" or not file.exists() or _may_write_everything():
        return
    owners = {part.stat().st_uid for part in [file, group, *group.parents][: len(Path(path).parts)]}
    if others := owners - {0, os.geteuid()}:
        words = f"thread {tid} could not be put back to its cgroup {hierarchy} {path}, which is of user {min(others)}"
        raise CannotChange(tid, words, "move it to a cgroup of root's, or set `shield = false`")
    if not os.access(file, os.W_OK):
        words = f"thread {tid} could not be put back to its cgroup {hierarchy} {path}: no right to write {file}"
        raise CannotChange(tid, words, "run the daemon as its owner, or set `shield = false`")


def _may_write_everything() -> bool:
    effective = proc.value(proc.text(PROC / "thread-self/status"), "CapEff")
    return effective is not None and bool(int(effective, 16) & DAC_OVERRIDE)


def within(hierarchy: str, path: str) -> list[int]:
    """The threads in a cgroup; none where there is no such cgroup."""
    try:
        return tasks_of(_group(hierarchy, path))
    except OSError:
        return []


def tasks_of(group: Path) -> list[int]:
    """The threads in the cgroup of this directory; none where it is not there."""
    for name in ("tasks", "cgroup.threads"):  # of v1, of v2
        with contextlib.suppress(OSError):
            return [int(line) for line in proc.lines(proc.text(group / name))]
    return []


def _group(hierarchy: str, path: str) -> Path:
    """Raises OSError where the hierarchy is not mounted, and for a path outside of it."""
    mounted = mounts().get(hierarchy)
    if mounted is None:
        raise OSError(errno.ENOENT, f"the cgroup hierarchy {hierarchy or 'v2'} is not mounted")
    if ".." in Path(path).parts:
        raise OSError(errno.EXDEV, f"{path} is outside of this cgroup namespace")
    return mounted / path.lstrip("/")


def check(tid: int) -> Stat:
    """Raises Ended for a thread that does not exist, CannotChange for one that cannot share (SCHED_DEADLINE), or cannot be looked at."""
    with of_one(tid):
        found = stat(tid) if tid > 0 else None
        if found is None:
            raise Ended(tid, f"{tid}: no such thread", remedy="use a number from /proc/PID/task")
        check_policy(tid)
        return found


def check_policy(tid: int) -> None:
    """Raises CannotChange for a thread that is SCHED_DEADLINE."""
    if sched.get(tid).policy == sched.DEADLINE:
        raise CannotChange(
            tid, f"thread {tid} is SCHED_DEADLINE: it cannot be pinned or share by weight", "chrt -o -p 0 TID"
        )
