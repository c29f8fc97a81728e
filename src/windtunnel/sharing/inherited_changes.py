"""Restores threads, and those that they forked while they were changed, which inherited our change.

A thread keeps what it has changed itself: only values that are still ours are restored.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from windtunnel.sharing import threads
from windtunnel.sharing.journal import Entry, Process
from windtunnel.sharing.threads import Fields

PASSES = 5
"""Passes in which threads are found that were forked during the last pass."""
GRACE_S, PATIENCE_S = 0.5, 5.0


def end(helpers: Iterable[Process]) -> None:
    """Ends processes that change threads, and waits until they are gone. Each ends by itself when its holder does; one that
    does not is killed."""
    living = [one for one in helpers if one.lives]
    if _gone(living, GRACE_S):
        return
    for one in living:
        if one.lives:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
    _gone(living, PATIENCE_S)


def _gone(processes: list[Process], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while any(one.lives for one in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def put_back(entries: list[Entry], remembered: dict[int, Entry], with_children: bool = True) -> list[str]:
    """Returns what stays changed, and why. Threads in `remembered` inherited nothing: each has an entry of its own."""
    said = []
    ours: dict[int, list[Fields]] = {entry.tid: _values(entry) for entry in entries}
    for entry in entries:
        now = _now(entry.tid, entry.started)
        if now is not None:
            theirs, left = _mend(entry, now)
            ours[entry.tid].append({name: now[name] for name in theirs})
            said += left
    if with_children:
        done = set(remembered)
        for _ in range(PASSES):
            new = [(tid, entry) for tid, entry in _inheriting(entries) if tid not in done]
            if not new:
                break
            for tid, entry in new:
                done.add(tid)
                _mend_inheriting(tid, entry, ours[entry.tid])
    return said


def put_settings_back(settings: dict[str, str]) -> list[str]:
    """Restores the text of each file."""
    said = []
    for path, before in settings.items():
        try:
            Path(path).write_text(before)
        except OSError as error:
            said.append(f"{path} could not be restored to {before}: {error.strerror}")
    return said


def _values(entry: Entry) -> list[Fields]:
    return [{name: value} for name, values in entry.ours.items() for value in values]


def _now(tid: int, started: int) -> Fields | None:
    """None where the thread has ended, also if another thread has its number now."""
    found = threads.stat(tid)
    if found is None or found.started != started:
        return None
    with contextlib.suppress(ProcessLookupError):
        return threads.read(tid)
    return None


def _mend(entry: Entry, now: Fields) -> tuple[list[str], list[str]]:
    """The names of what was put back, and words about what was not."""
    differing = [name for name, value in entry.before.items() if now.get(name) != value and name in now]
    known = [name for name in differing if name in entry.ours]
    own = [name for name in known if now[name] not in entry.ours[name]]
    mine = [name for name in differing if (name in entry.ours or entry.whole) and name not in own]
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
            except OSError as error:
                said.append(f"thread {tid}: its {name} could not be restored to {value}: {error.strerror}")
        return said


def _inheriting(entries: list[Entry]) -> list[tuple[int, Entry]]:
    """Threads of the remembered threads' processes and of these processes' children that began since, each with the entry whose
    change it may have inherited."""
    first: dict[int, Entry] = {}
    for entry in entries:
        first.setdefault(entry.pid, entry)
    children_of = threads.children()
    found = []
    for pid, entry in first.items():
        family = [pid]
        for member in family:  # which grows
            family += children_of(member)
        for member in family:
            for tid in threads.threads_of(member):
                born = threads.stat(tid)
                if born is not None and born.started >= entry.since - 1:
                    found.append((tid, entry))
    return found


def _mend_inheriting(tid: int, entry: Entry, ours: list[Fields]) -> None:
    with contextlib.suppress(ProcessLookupError):
        now = threads.read(tid)
        inherited = {name for fields in ours for name, value in fields.items() if now.get(name) == value}
        back = {name: entry.before[name] for name in inherited if now[name] != entry.before[name]}
        if back:
            _write(tid, back)
