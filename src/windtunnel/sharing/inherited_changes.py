"""Restores threads, and those that they forked while they were changed, which inherited our change.

A thread keeps what it has changed itself: only values that are still ours are restored.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from windtunnel.errors import UserError, in_words
from windtunnel.sharing import sched, threads
from windtunnel.sharing.journal import Entry
from windtunnel.sharing.native import SLICER
from windtunnel.sharing.threads import Fields, Process, Stat, Value

PASSES = 5
"""Passes in which threads are found that were forked during the last pass."""
GRACE_S, PATIENCE_S = 0.5, 5.0
NOBODY = 0
"""The number of an entry that stands for those of several processes."""


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


def put_back(entries: list[Entry], remembered: dict[int, Entry], with_children: bool = True) -> list[str]:
    """Returns what stays changed, and why. Threads in `remembered` inherited nothing: each has an entry of its own."""
    said: list[str] = []
    ours = {entry.tid: _inheritable(entry) for entry in entries}
    for entry in entries:
        with _alone(f"thread {entry.tid}", said):
            now = _now(entry.tid, entry.started)
            if now is not None:
                theirs, left = _mend(entry, now)
                ours[entry.tid] += [(name, now[name]) for name in theirs]
                said += left
    if with_children:
        done = {(tid, entry.started) for tid, entry in remembered.items()}
        for _ in range(PASSES):
            found = _inheriting(entries) + _in_groups_of(entries, remembered)
            new = [(thread, family) for thread, family in found if thread not in done]
            if not new:
                break
            for thread, family in new:
                if thread in done:  # found in both ways
                    continue
                done.add(thread)
                nobodys = {entry.tid: _inheritable(entry) for entry in family if entry.tid == NOBODY}
                with _alone(f"thread {thread[0]}", said):
                    _mend_inheriting(thread[0], family, ours | nobodys)
    return said


def release(tid: int, remembered: Mapping[int, Entry], cgroups: Mapping[str, str]) -> tuple[Fields, list[str]]:
    """Lets a thread go that is in a cgroup of ours without being remembered, because a remembered thread's process forked it. It gets what
    it would have if it had inherited nothing, and these cgroups where that is not known any more.

    Returns what it was given, and words about what was refused: neither for a thread that has ended, or whose process is remembered.
    """
    found = threads.stat(tid)
    if found is None or any(
        entry.pid == found.pid and _same_process(found.pid, entry) for entry in remembered.values()
    ):
        return {}, []
    family = _family_of(found, remembered) or _least_of(_in_same_groups(tid, found.started, remembered.values()))
    try:
        now = threads.read(tid)
    except ProcessLookupError:
        return {}, []
    back = _inherited(now, family, {entry.tid: _inheritable(entry) for entry in family})
    given = {threads.CGROUP + hierarchy: path for hierarchy, path in cgroups.items()} | back
    return given, _write(tid, given)


@contextlib.contextmanager
def _alone(what: str, said: list[str]) -> Iterator[None]:
    """What goes wrong with one thread, foreseen or not, is said, and the others are restored all the same."""
    try:
        with in_words():
            yield
    except UserError as error:
        said.append(f"{what} could not be restored: {error.message}")


def inherited_by(tid: int, found: Stat, remembered: Mapping[int, Entry]) -> tuple[Fields, Fields]:
    """How a thread runs that is not remembered, and what it would have instead of what it inherited of our changes: it may be a thread, or
    a child, of a remembered one.

    Raises ProcessLookupError where it has ended.
    """
    now = threads.read(tid)
    family = _family_of(found, remembered)
    return now, _inherited(now, family, {entry.tid: _inheritable(entry) for entry in family})


def is_changed(entry: Entry) -> bool:
    """Whether a thread still runs with something that is ours, or that a helper of ours may have set. So does one that cannot be read."""
    try:
        with in_words():
            now = _now(entry.tid, entry.started) or {}
    except UserError:
        return True
    differing = [name for name, value in now.items() if value != entry.before.get(name, value)]
    return any(now[name] in entry.ours.get(name, []) for name in differing)


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


def _inheritable(entry: Entry) -> list[tuple[str, Value]]:
    """The values of ours that a fork may have. One that a policy with RESET_ON_FORK makes ordinary has nice 0 instead of a
    negative value (sched_fork in kernel/sched/core.c)."""
    values = [(name, value) for name, them in entry.ours.items() for value in them]
    if any(name == "policy" and isinstance(value, tuple) and value[2] & sched.RESET_ON_FORK for name, value in values):
        values.append(("nice", 0))
    return values


def _now(tid: int, started: int) -> Fields | None:
    """None where the thread has ended, also if another thread has its number now."""
    if threads.started(tid) != started:
        return None
    with contextlib.suppress(ProcessLookupError):
        return threads.read(tid)
    return None


def _mend(entry: Entry, now: Fields) -> tuple[list[str], list[str]]:
    """The names of what was put back, and words about what was not."""
    differing = [name for name, value in entry.before.items() if name in entry.ours and now.get(name, value) != value]
    own = [name for name in differing if now[name] not in entry.ours[name]]
    mine = [name for name in differing if name not in own]
    said = [f"thread {entry.tid} has changed its {name} itself ({now[name]}): it stays" for name in own]
    return mine, said + _write(entry.tid, {name: entry.before[name] for name in mine})


def _write(tid: int, fields: Fields) -> list[str]:
    """Field by field where all at once is refused: one cgroup that is gone must not keep the rest from being put back."""
    try:
        threads.write(tid, fields)
        return []
    except OSError:
        said = []
        for name, value in fields.items():
            try:
                threads.write(tid, {name: value})
            except ProcessLookupError:
                return []
            except FileNotFoundError as error:
                said.append(_to_root(tid, name, value, error))
            except OSError as error:
                said.append(_not_restored(tid, name, value, error))
        return said


def _to_root(tid: int, name: str, value: Value, gone: OSError) -> str:
    """Whose cgroup was removed meanwhile does not stay in ours: it is in the root then."""
    try:
        threads.write(tid, {name: "/"})
    except OSError:
        return _not_restored(tid, name, value, gone)
    return f"thread {tid}: its {name} {value} is gone: it is in / now"


def _not_restored(tid: int, name: str, value: Value, error: OSError) -> str:
    return f"thread {tid}: its {name} could not be restored to {value}: {error.strerror}"


def _inheriting(entries: list[Entry]) -> list[tuple[tuple[int, int], list[Entry]]]:
    """Threads (number and start) of the remembered threads' processes and of these processes' children that began since, each with the entries whose
    change it may have inherited. A process whose number was used again is none of them."""
    by_pid: dict[int, list[Entry]] = {}
    for entry in entries:
        by_pid.setdefault(entry.pid, []).append(entry)
    children_of = threads.children()
    found = []
    for pid, remembered in by_pid.items():
        if not any(_same_process(pid, entry) for entry in remembered):
            continue
        for member in threads.with_children([pid], children_of):
            for tid in threads.threads_of(member):
                born = threads.started(tid)
                if born is not None:
                    found.append(((tid, born), [entry for entry in remembered if born >= entry.since - 1]))
    return [(thread, remembered) for thread, remembered in found if remembered]


def _in_groups_of(entries: list[Entry], remembered: Mapping[int, Entry]) -> list[tuple[tuple[int, int], list[Entry]]]:
    """As `_inheriting`, of those whose parent has ended (a program that forks twice does so): nothing but the cgroup that we had put the thread
    in which forked them tells whose they are."""
    groups = {(name, path) for entry in entries for name, path in _groups(entry)}
    leaving = {entry.tid for entry in entries}
    everybody = [*entries, *(entry for entry in remembered.values() if entry.tid not in leaving)]
    found = []
    for tid in sorted(
        {tid for name, path in groups for tid in threads.within(name.removeprefix(threads.CGROUP), path)}
    ):
        forked = None if tid in remembered else threads.stat(tid)
        if forked is not None and not _family_of(forked, remembered):
            near = _in_same_groups(tid, forked.started, everybody)
            if any(entry.tid in leaving for entry in near):
                found.append(((tid, forked.started), _least_of(near)))
    return found


def _in_same_groups(tid: int, started: int, entries: Iterable[Entry]) -> list[Entry]:
    """What may have forked a thread that we do not know: the remembered ones in a cgroup of ours where it is, from before it began. Of those
    only the ones whose other cgroups, which we do not change, are the same, if there are any: a service and its containers have their own."""
    try:
        now = {name: path for name, path in threads.read(tid).items() if name.startswith(threads.CGROUP)}
    except ProcessLookupError:
        return []
    near = [entry for entry in entries if started >= entry.since - 1 and set(_groups(entry)) & now.items()]
    same = [entry for entry in near if all(now.get(name) == path for name, path in _other_groups(entry))]
    return same or near


def _least_of(entries: list[Entry]) -> list[Entry]:
    """The entries of one process; in place of those of several, one that gives no more than each of them had: a tenant that forks twice must
    not get what another one has."""
    if len({entry.pid for entry in entries}) < 2:
        return entries
    before: dict[str, set[Value]] = {}
    ours: dict[str, list[Value]] = {}
    for entry in entries:
        for name, value in entry.before.items():
            before.setdefault(name, set()).add(value)
        for name, values in entry.ours.items():
            ours.setdefault(name, []).extend(values)
    return [Entry(NOBODY, NOBODY, 0, 0, {name: _least(name, values) for name, values in before.items()}, ours)]


def _least(name: str, values: set[Value]) -> Value:
    """Of what several had: the value, if it is one; else an ordinary policy, the most considerate nice value, every CPU that one of them had,
    the root."""
    if len(values) == 1:
        return next(iter(values))
    if name == "policy":
        return (sched.OTHER, 0, 0)
    if name == "nice":
        return max(0, *(value for value in values if isinstance(value, int)))
    if name == "affinity":
        return tuple(sorted({cpu for value in values if isinstance(value, tuple) for cpu in value}))
    return "/"


def _groups(entry: Entry) -> list[tuple[str, str]]:
    """The cgroups that we have put it in."""
    return [
        (name, str(path)) for name, paths in entry.ours.items() if name.startswith(threads.CGROUP) for path in paths
    ]


def _other_groups(entry: Entry) -> list[tuple[str, Value]]:
    return [
        (name, path)
        for name, path in entry.before.items()
        if name.startswith(threads.CGROUP) and name not in entry.ours
    ]


def _family_of(found: Stat, remembered: Mapping[int, Entry]) -> list[Entry]:
    """The entries of its process, else of the nearest process above it that has any, from before it began."""
    pids = {entry.pid for entry in remembered.values()}
    pid = found.pid
    while pid and pid not in pids:
        above = threads.stat(pid)
        pid = above.parent if above else 0
    return [
        entry
        for entry in remembered.values()
        if entry.pid == pid and found.started >= entry.since - 1 and _same_process(pid, entry)
    ]


def _same_process(pid: int, entry: Entry) -> bool:
    """Whether the process of this number is the one that had it when its thread was remembered."""
    began = threads.started(pid)
    return began is not None and began <= entry.since


def _inherited(now: Fields, family: list[Entry], ours: Mapping[int, list[tuple[str, Value]]]) -> Fields:
    """What a thread had, if it had not inherited our change: which of the family forked it is not known, so any value of theirs counts."""
    before: Fields = {}
    for entry in family:
        for name, value in ours[entry.tid]:
            if name not in before and name in entry.before and now.get(name) == value != entry.before[name]:
                before[name] = entry.before[name]
    return before


def _mend_inheriting(tid: int, family: list[Entry], ours: Mapping[int, list[tuple[str, Value]]]) -> None:
    with contextlib.suppress(ProcessLookupError):
        back = _inherited(threads.read(tid), family, ours)
        if back:
            _write(tid, back)
