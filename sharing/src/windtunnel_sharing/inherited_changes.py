"""Restores threads, and those that they forked while they were changed, which inherited our change.

A thread keeps what it has changed itself, as far as it might have done so without the rights that our values gave it: whoever had a nice value
of -6 from us may take -4, and has -4 from us, too.
"""

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePosixPath

from windtunnel.api.errors import UserError, in_words
from windtunnel_sharing import threads
from windtunnel_sharing.entries import Entries, Entry
from windtunnel_sharing.families import Families, groups_of, might_have
from windtunnel_sharing.native import SLICER
from windtunnel_sharing.threads import Fields, Process, Stat, Value

PASSES = 5
"""Passes in which threads are found that were forked during the last pass."""
GRACE_S, PATIENCE_S = 0.5, 5.0
FORK_NS, FORK_WAIT_S = 1_000_000, 0.5
"""CPU time in which a fork ends that had begun, some 100 us, and the longest wait for a thread to have it."""


def end(helpers: Iterable[Process]) -> None:
    """Ends processes that change threads, and waits until they are gone. Each ends by itself when its holder does; one that
    does not is killed, if it is a slicer of ours."""
    living = [one for one in helpers if one.lives]
    if not _gone(living, GRACE_S):
        _gone([one for one in living if _kill(one)], PATIENCE_S)


def _gone(processes: list[Process], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while any(one.lives for one in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _kill(helper: Process) -> bool:
    """Through a descriptor: what is looked at and what is killed are one process. False where it is no slicer of ours, or has ended."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        descriptor = os.pidfd_open(helper.pid)
        try:
            named = threads.name(helper.pid) == SLICER[: threads.MOST_NAME]
            if helper.lives and named and _owner(helper.pid) == os.geteuid():
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                return True
        finally:
            os.close(descriptor)
    return False


def _owner(pid: int) -> int:
    return os.stat(f"{threads.PROC}/{pid}").st_uid


def put_back(entries: list[Entry], remembered: Entries) -> list[str]:
    """Restores these threads, and those that they forked. Returns what stays changed, and why.

    A thread that did not sleep when it was restored may have been within a fork: what it forks has what it had before, and shows when the
    fork ends. It is looked for again once such threads have run."""
    leaving = frozenset(entry.pid for entry in entries)
    said = put_back_own(entries, remembered)
    forking = {entry.tid: threads.cpu_ns(entry.tid) for entry in entries if threads.is_busy(entry.tid)}
    said += filter(None, put_back_forked(entries, remembered, leaving))
    if forking:
        _await_forks(forking)
        said += filter(None, put_back_forked(entries, remembered, leaving))
    return said


def _await_forks(forking: Mapping[int, int]) -> None:
    """Until these threads, with their CPU time then, have slept or run, or for FORK_WAIT_S."""
    deadline = time.monotonic() + FORK_WAIT_S
    waiting = dict(forking)
    while waiting and time.monotonic() < deadline:
        time.sleep(0.002)
        waiting = {
            tid: ns for tid, ns in waiting.items() if threads.is_busy(tid) and threads.cpu_ns(tid) < ns + FORK_NS
        }


def put_back_own(entries: Iterable[Entry], remembered: Entries) -> list[str]:
    """Restores these threads alone."""
    said: list[str] = []
    for entry in entries:
        with _alone(f"thread {entry.tid}", said):
            now = _now(entry.tid, entry.started)
            if now is not None:
                said += _mend(entry, now, remembered.ours_of(entry))
    return said


def put_back_forked(entries: list[Entry], remembered: Entries, leaving: AbstractSet[int]) -> Iterator[str]:
    """Restores the threads that these forked, which may be thousands: looks at one at each step, and yields words about what was refused, or
    nothing. Those in `remembered` inherited nothing: each has an entry of its own. `leaving`: the processes of these; one that is taken out of
    it meanwhile is shared again."""
    done = {(tid, entry.started) for tid, entry in remembered.items()}
    for _ in range(PASSES):
        families, before = Families(remembered), len(done)
        for tid in chain(_descending(entries), _in_groups_of(entries, remembered)):
            said: list[str] = []
            with _alone(f"thread {tid}", said), contextlib.suppress(ProcessLookupError):
                if (tid, threads.started(tid)) not in done and (found := threads.stat(tid)):
                    done.add((tid, found.started))
                    family = families.of(now := threads.read(tid), found)
                    if family and (family.pids & leaving or not any(map(remembered.of, family.pids))):
                        _write(tid, family.before(now, found.started))
            yield "; ".join(said)
        if len(done) == before:
            break


@dataclass
class Released:
    """Threads that were let go, each with what it was given, words about what was refused, and at how many it was looked."""

    given: dict[int, Fields] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    looks: int = 0


def release(
    tids: Iterable[int], remembered: Entries, cgroups: Mapping[str, str], own: bool = False, young_s: float = 0.0
) -> Released:
    """Lets those go that are in a cgroup of ours without being remembered, because a remembered thread's process forked them. Each gets what
    it would have if it had inherited nothing, and these cgroups where that is not known any more. Left are those that have ended,
    those that began less than `young_s` ago, and unless `own` threads of a process that is remembered."""
    done, families = Released(), Families(remembered)
    latest = threads.ticks_now() - int(young_s * threads.TICKS)
    for tid in tids:
        done.looks += 1
        with _alone(f"thread {tid}", done.refused):
            entry, found = remembered.get(tid), None
            if entry is None or threads.started(tid) != entry.started:
                found = threads.stat(tid)
            if found is None or found.started > latest or not own and families.of_process(found.pid):
                continue
            with contextlib.suppress(ProcessLookupError):
                now = threads.read(tid)
                family = families.of(now, found)
                back = family.before(now, found.started) if family else {}
                given = {threads.CGROUP + hierarchy: path for hierarchy, path in cgroups.items()} | back
                # What it forks in between is in our cgroup still, and is let go itself.
                rights = {name: value for name, value in given.items() if name in ("policy", "nice", "runtime_ns")}
                said = _write(tid, rights) if rights else []
                said += _write(tid, {name: value for name, value in given.items() if name not in rights})
                done.refused.extend(said)
                if not said:
                    done.given[tid] = given
    return done


@contextlib.contextmanager
def _alone(what: str, said: list[str]) -> Iterator[None]:
    """What goes wrong with one thread, foreseen or not, is said, and the others are restored all the same."""
    try:
        with in_words():
            yield
    except UserError as error:
        said.append(f"{what} could not be restored: {error.message}")


def inherited_by(tid: int, found: Stat, remembered: Entries) -> tuple[Fields, Fields]:
    """How a thread runs that is not remembered, and what it would have instead of what it inherited of our changes: it may be a thread, or
    a child, of a remembered one.

    Raises ProcessLookupError where it has ended.
    """
    now = threads.read(tid)
    family = Families(remembered).of(now, found)
    return now, family.before(now, found.started) if family else {}


def is_changed(entry: Entry) -> bool:
    """Whether a thread still runs with something that is ours, or that a helper of ours may have set. So does one that cannot be read."""
    try:
        with in_words():
            now = _now(entry.tid, entry.started) or {}
    except UserError:
        return True
    return any(_is_ours(entry, name, now, entry.ours) for name in _differing(entry, now, entry.ours))


def put_settings_back(settings: Mapping[str, str]) -> dict[str, str]:
    """Restores the text of each file. Returns those that stay changed, and why."""
    said: dict[str, str] = {}
    for path, before in settings.items():
        try:
            with in_words():
                Path(path).write_text(before)
        except UserError as error:
            said[path] = f"{path} could not be restored to {before}: {error.message}"
    return said


def _now(tid: int, started: int) -> Fields | None:
    """None where the thread has ended, also if another thread has its number now."""
    if threads.started(tid) != started:
        return None
    with contextlib.suppress(ProcessLookupError):
        return threads.read(tid)
    return None


def _mend(entry: Entry, now: Fields, ours: Mapping[str, list[Value]]) -> list[str]:
    """Returns words about what was not put back. CPUs that we asked for are put back if they are those that it had, too: what it has asked for
    decides where it runs when its cpuset changes."""
    differing = _differing(entry, now, ours)
    own = [name for name in differing if not _is_ours(entry, name, now, ours)]
    mine = [name for name in entry.before if name in differing or name == "affinity" and name in ours]
    said = [f"thread {entry.tid} has changed its {name} itself ({now[name]}): it stays" for name in own]
    return said + _write(entry.tid, {name: entry.before[name] for name in mine if name not in own})


def _differing(entry: Entry, now: Fields, ours: Mapping[str, list[Value]]) -> list[str]:
    """The fields that we have changed, and that are not as they were."""
    changed = [name for name in entry.before if name in ours and name in now]
    return [name for name in changed if not _shows(now, name, entry.before[name])]


def _is_ours(entry: Entry, name: str, now: Fields, ours: Mapping[str, list[Value]]) -> bool:
    given = any(_shows(now, name, value) for value in ours[name])
    return given or not might_have(name, now[name], entry.before[name])


def _shows(now: Fields, name: str, value: Value) -> bool:
    """Whether a thread is as one that was given this value: of CPUs it has those that its cpuset permits, which may have changed meanwhile."""
    if name == "affinity" and isinstance(value, tuple) and now[name] != value:
        return now[name] == threads.permitted(value, now)
    return now[name] == value


def _write(tid: int, fields: Fields) -> list[str]:
    """Field by field where all at once is refused: one cgroup that is gone must not keep the rest from being put back. CPUs last: its cpuset has to
    permit them."""
    try:
        threads.write(tid, fields)
        return []
    except OSError:
        said = []
        for name, value in sorted(fields.items(), key=lambda field: field[0] == "affinity"):
            try:
                threads.write(tid, {name: value})
            except ProcessLookupError:
                return []
            except FileNotFoundError as error:
                said.append(_to_nearest(tid, name, value, error))
            except OSError as error:
                lost = name == "affinity" and error.errno == errno.EINVAL
                said.append(_to_cpuset(tid, value) if lost else _not_restored(tid, name, value, error))
        return said


def _to_nearest(tid: int, name: str, value: Value, gone: OSError) -> str:
    """Whose cgroup was removed meanwhile does not stay in ours: it is in the nearest one above that is there, whose limits hold for it, too."""
    for above in map(str, PurePosixPath(str(value)).parents):
        try:
            threads.write(tid, {name: above})
        except FileNotFoundError:
            continue
        except OSError as error:
            return _not_restored(tid, name, above, error)
        return f"thread {tid}: its {name} {value} is gone: it is in {above} now"
    return _not_restored(tid, name, value, gone)


def _to_cpuset(tid: int, cpus: Value) -> str:
    """Whose cpuset has none of its CPUs any more has all of that, as the kernel would have it."""
    try:
        threads.write(tid, {"affinity": threads.possible_cpus()})
    except OSError as error:
        return _not_restored(tid, "affinity", cpus, error)
    return f"thread {tid}: its cpuset has none of its CPUs {cpus} any more: it is on all of that now"


def _not_restored(tid: int, name: str, value: Value, error: OSError) -> str:
    return f"thread {tid}: its {name} could not be restored to {value}: {error.strerror}"


def _descending(entries: Iterable[Entry]) -> Iterator[int]:
    """Threads of their processes, and of what these have started. Who is hidden from us cannot be changed either."""
    find = threads.children()

    def children_of(pid: int) -> list[int]:
        with contextlib.suppress(OSError):
            return find(pid)
        return []

    for member in threads.with_children((entry.pid for entry in entries), children_of):
        with contextlib.suppress(OSError):
            yield from threads.threads_of(member)


def _in_groups_of(entries: Iterable[Entry], remembered: Entries) -> list[int]:
    """Threads whose parent has ended (a program that forks twice does so): nothing but the cgroup that we had put the thread in which forked
    them tells whose they are."""
    groups = {(name, str(path)) for entry in entries for name, path in groups_of(entry)}
    inside = {tid for name, path in groups for tid in threads.within(name.removeprefix(threads.CGROUP), path)}
    return sorted(inside - remembered.keys())
