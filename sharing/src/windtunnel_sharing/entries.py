"""What a journal knows of threads, by thread and by process.

A tenant may have thousands of threads: whatever is asked for each of them is looked up, and not searched for among all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from windtunnel_sharing import sched
from windtunnel_sharing.threads import TIMER_SLACK, Fields, Value

_NONE: Mapping[int, "Entry"] = MappingProxyType({})
MOST_LEFT = 256
"""Users of whom the last thread that left is still known."""

GRANTED = frozenset(("nice", "policy", TIMER_SLACK))
"""Fields of which some values need a right, or come of themselves: who is not real-time any more has a timer slack that we did not set."""


@dataclass
class Entry:
    """One thread: how it ran (`before`), and what we changed since.

    `ours`: by field, all values that we set, or may have set: a crash can come between the line and the change, and a thread that it
    forked meanwhile may have any of them. Once it is in `Entries` they are added by `Entries.allow`. `since`: when it may have had the first of
    them, in clock ticks since boot: its own beginning, if it inherited some. `users`: of `threads.Stat`.
    """

    tid: int
    pid: int
    started: int
    since: int
    before: Fields
    ours: dict[str, list[Value]] = field(default_factory=dict)
    users: tuple[int, ...] = ()

    @property
    def user(self) -> int | None:
        """The real one, which no set-user-ID program changes; None: not known."""
        return self.users[0] if self.users else None

    def hands_on(self, name: str, value: Value) -> bool:
        """Whether it may have given this value, which is ours, to what it forked, and had another one before."""
        ours = (pair for field, values in self.ours.items() for pair in _inheritable(field, values))
        return self.before.get(name, value) != value and (name, value) in ours


class Entries(MutableMapping[int, Entry]):
    """Each by its thread, in the order in which they were remembered."""

    def __init__(self, entries: Iterable[Entry] = ()):
        self._entries: dict[int, Entry] = {}
        self.left: dict[int | None, Entry] = {}
        """By its real user, one thread of the last process of theirs that is remembered no more, the one that was longest: what that process
        has started may still be in a cgroup of ours."""
        self.gone: dict[int, Entry] = {}
        """By its process, of which other threads are remembered, the thread that was remembered first of those that are not any more, with what
        the others of these had of ours: what they had forked is told by nobody else."""
        self.memo: dict[Any, Any] = {}
        """What was looked up among all, by its question, until one of them changes."""
        self._of: dict[int, dict[int, Entry]] = {}
        self._had: dict[tuple[int, str], Counter[Value]] = {}
        self._given: dict[tuple[int, str], dict[int, Entry]] = {}
        self._handing_on: dict[tuple[int, str, Value], dict[int, Entry]] = {}
        for entry in entries:
            self[entry.tid] = entry

    def of(self, pid: int) -> Mapping[int, Entry]:
        """The threads of a process, which may be one that had its number before."""
        return self._of.get(pid, _NONE)

    def ours_of(self, entry: Entry) -> Mapping[str, list[Value]]:
        """What a thread may have of ours. The first one of a process may be another one of it by now: a thread that execs takes its number and
        its start."""
        if entry.tid != entry.pid:
            return entry.ours
        found: dict[str, list[Value]] = {}
        for one in self.of(entry.pid).values():
            for name, values in one.ours.items():
                known = found.setdefault(name, [])
                known += [value for value in values if value not in known]
        return found

    def handing_on(self, pid: int, name: str, value: Value) -> Iterable[Entry]:
        """The threads of a process that may have given this value, which is ours, to one that they forked, and had another one before; first
        the one that has had it longest."""
        return self._handing_on.get((pid, name, value), _NONE).values()

    def had(self, pid: int, name: str) -> Iterable[Value]:
        """What the threads of a process had of a field that needs a right (`GRANTED`) before they were changed: few values of many threads."""
        return self._had.get((pid, name), ())

    def given(self, pid: int, name: str) -> Iterable[Entry]:
        """The threads of a process that have had a value of ours of such a field; first the one that has had it longest."""
        return self._given.get((pid, name), _NONE).values()

    def allow(self, entry: Entry, name: str, values: Iterable[Value]) -> None:
        """Adds values of ours to one of them."""
        known = entry.ours.setdefault(name, [])
        known += (new := [value for value in values if value not in known])
        if new:
            self.memo.clear()
        self._hand_on(entry, name, new)

    def __getitem__(self, tid: int) -> Entry:
        return self._entries[tid]

    def __setitem__(self, tid: int, entry: Entry) -> None:
        self.pop(tid, None)
        self.memo.clear()
        self._entries[tid] = self._of.setdefault(entry.pid, {})[tid] = entry
        for name in GRANTED & entry.before.keys():
            self._had.setdefault((entry.pid, name), Counter())[entry.before[name]] += 1
        for name, values in entry.ours.items():
            self._hand_on(entry, name, values)

    def __delitem__(self, tid: int) -> None:
        entry = self._entries.pop(tid)
        self.memo.clear()
        _drop(self._of, entry.pid, tid)
        for name in GRANTED & entry.before.keys():
            self._had[entry.pid, name] -= Counter([entry.before[name]])
            if not self._had[entry.pid, name]:
                del self._had[entry.pid, name]
            _drop(self._given, (entry.pid, name), tid)
        self._leave(entry)
        for name, values in entry.ours.items():
            for inherited, value in _inheritable(name, values):
                _drop(self._handing_on, (entry.pid, inherited, value), tid)

    def __iter__(self) -> Iterator[int]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def _leave(self, entry: Entry) -> None:
        first = _merged(self.gone.pop(entry.pid), entry) if entry.pid in self.gone else entry
        if entry.pid in self._of:
            self.gone[entry.pid] = first
            return
        self.left.pop(first.user, None)
        self.left[first.user] = first
        if len(self.left) > MOST_LEFT:
            del self.left[next(iter(self.left))]

    def _hand_on(self, entry: Entry, name: str, values: Iterable[Value]) -> None:
        if name in GRANTED and name in entry.before:
            self._given.setdefault((entry.pid, name), {})[entry.tid] = entry
        for inherited, value in _inheritable(name, values):
            if entry.before.get(inherited, value) != value:
                self._handing_on.setdefault((entry.pid, inherited, value), {})[entry.tid] = entry


def _merged(one: Entry, other: Entry) -> Entry:
    """The one that was remembered first, with the values of ours of the other one, too, of each field that both had alike before."""
    first, later = sorted((one, other), key=lambda entry: entry.since)
    ours = dict(first.ours)
    for name, values in later.ours.items():
        if later.before.get(name) == first.before.get(name):
            known = ours.get(name, [])
            ours[name] = known + [value for value in values if value not in known]
    return replace(first, ours=ours)


def _drop(index: dict[Any, dict[int, Entry]], key: object, tid: int) -> None:
    """Also the key of what is empty then."""
    found = index.get(key, {})
    found.pop(tid, None)
    if not found:
        index.pop(key, None)


def _inheritable(name: str, values: Iterable[Value]) -> Iterator[tuple[str, Value]]:
    """The values of ours that a fork may have. One that a policy with RESET_ON_FORK makes ordinary has nice 0 instead of a
    negative value (sched_fork in kernel/sched/core.c)."""
    for value in values:
        yield name, value
        if name == "policy" and isinstance(value, tuple) and value[2] & sched.RESET_ON_FORK:
            yield "nice", 0
