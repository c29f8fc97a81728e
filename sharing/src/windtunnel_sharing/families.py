"""Which remembered threads may have forked one that is not, and what it had then, if it had not inherited our changes.

A thread is told by its process, and a user by the real number, which a set-user-ID program keeps. A process has the parent that it chose among those that ask for orphans (a subreaper), or that its parent
chose (CLONE_PARENT), and its cgroup has other tenants in it: so whoever is of another user than a remembered thread has not inherited from it.
Of a process it is not known either which of its threads has forked, nor whether that one was changed, or has execed: so nobody but a remembered
thread itself gets a right back that the kernel grants. What others of its process have is no real-time policy, and no nice value below 0.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain

from windtunnel_sharing import sched, threads
from windtunnel_sharing.entries import Entries, Entry
from windtunnel_sharing.threads import CGROUP, TIMER_SLACK, Fields, Stat, Value

ORDINARY = (sched.OTHER, 0, 0)
Groups = frozenset[tuple[str, Value]]
"""A thread's cgroups, by hierarchy."""
NOBODY = 0
"""The number of an entry that stands for those of several processes."""


@dataclass(frozen=True)
class Family:
    """The remembered threads of a process, one of which may have forked a thread: which one is not known, so any value of theirs counts."""

    entries: Entries
    pid: int
    began: int = 0
    """Start of the process: what is remembered of an earlier one of its number does not count."""
    pids: frozenset[int] = frozenset()
    """The processes that it stands for."""
    guessed: bool = False
    """Whether another process may be the one."""
    execed: bool = False
    """A remembered thread of it may have taken number and start of the first one, as a thread that execs does: born tells nothing."""

    def began_with(self, born: int) -> bool:
        """Whether one of them was changed before a thread began, which thus may have inherited that."""
        return any(self._first(entries, born) for entries in (self._gone, self.entries.of(self.pid).values()))

    def before(self, now: Fields, born: int) -> Fields:
        """What a thread had, if it had not inherited our change, without rights."""
        had = {}
        for name, value in now.items():
            gone = [entry for entry in self._gone if entry.hands_on(name, value)]
            handing_on = self.entries.handing_on(self.pid, name, value)
            if entry := self._first(handing_on, born) or self._first(gone, born) or self._exceeded(name, value, born):
                had[name] = entry.before[name] if self.execed else handed_on(name, entry.before)
        return granted(had)

    def _exceeded(self, name: str, value: Value, born: int) -> Entry | None:
        """One that was given values of this field by us, if a thread may have come down from one of them to this value, and none of them might have
        it without that. None if one might: it has it by a right of its own."""
        gone = [entry for entry in self._gone if name in entry.ours and name in entry.before]
        given = self._first(self.entries.given(self.pid, name), born) or self._first(gone, born)
        had = [*self.entries.had(self.pid, name), *(entry.before[name] for entry in self._gone if name in entry.before)]
        if given is None or any(might_have(name, value, before) for before in had):
            return None
        came_down = name == TIMER_SLACK or any(might_have(name, value, ours) for ours in given.ours[name])
        return given if came_down else None

    @property
    def _gone(self) -> list[Entry]:
        return [self.entries.gone[self.pid]] if self.pid in self.entries.gone else []

    def _first(self, entries: Iterable[Entry], born: int) -> Entry | None:
        """They are in the order of `since`."""
        for entry in entries:
            if entry.since > born and not self.execed:
                return None
            if entry.since >= self.began:
                return entry
        return None


class Families:
    """Of the threads in a journal. For one pass: there may be thousands of threads, and what was found out of a process is not asked again."""

    def __init__(self, remembered: Entries):
        self.remembered = remembered
        self._processes: dict[int, Family | None] = {}
        self._above: dict[int, int] = {}

    def of_process(self, pid: int) -> Family | None:
        """None for a process without remembered threads, also if an earlier one of its number had some."""
        if pid not in self._processes:
            entries, began = self.remembered.of(pid), threads.process_started(pid) if self.remembered.of(pid) else None
            known = began is not None and any(entry.since >= began for entry in entries.values())
            self._processes[pid] = Family(self.remembered, pid, began or 0, frozenset((pid,))) if known else None
        return self._processes[pid]

    def of(self, now: Fields, found: Stat) -> Family | None:
        """Of its process or its parents, else as an orphan's, else of parents that are of another user."""
        above = self.above(found)
        return above if above and not above.guessed else self._of_orphan(now, found) or above

    def above(self, found: Stat) -> Family | None:
        """Of its process, else of the nearest process above it that has any, from before it began. It is a guess if that is of another user."""
        passed, pid = [], found.pid
        while pid and not self.of_process(pid):
            passed.append(pid)
            if pid not in self._above:
                above = threads.process_stat(pid)
                self._above[pid] = above.parent if above else 0
            pid = self._above[pid]
        self._above |= dict.fromkeys(passed, pid)
        family = self.of_process(pid) if pid else None
        if family and pid == found.pid and found.started == family.began and self._others_have_ended(pid):
            return replace(family, execed=True)
        if not (family and family.began_with(found.started)):
            return None
        owner = next(iter(family.entries.of(pid).values())).user
        return replace(family, guessed=pid != found.pid and owner != found.user)

    def _others_have_ended(self, pid: int) -> bool:
        """Of the remembered threads of a process all but the first one; there are some. An exec ends them."""
        others = [entry for entry in self.remembered.of(pid).values() if entry.tid != pid]
        return bool(others) and all(threads.started(entry.tid) != entry.started for entry in others)

    def _of_orphan(self, now: Fields, found: Stat) -> Family | None:
        """What may have forked a thread whose parents we do not know: those in a cgroup of ours where it is, from before it began, that are
        remembered, or were the first of their process or the last of their user. If one of its own process is among them, that is no guess. Else
        only the ones of its user, and of these the ones whose other cgroups, which we do not change, are the same, if there are any: a
        service and its containers have their own."""
        groups = frozenset((name, value) for name, value in now.items() if name.startswith(CGROUP))
        count = bisect_right(self._oldest_first, found.started, key=lambda entry: entry.since)
        memo = self.remembered.memo
        if (groups, count) not in memo:
            near = [entry for entry in self._oldest_first[:count] if groups.intersection(groups_of(entry))]
            memo[groups, count] = near, {entry.pid for entry in near}
        near, pids = memo[groups, count]
        if found.pid in pids and (began := threads.process_started(found.pid)) is not None:
            its = [entry for entry in near if entry.pid == found.pid and entry.since >= began]
            if its:
                return Family(Entries(its), found.pid, began, frozenset((found.pid,)))
        key = groups, count, found.user
        if key not in memo:
            own = [entry for entry in near if entry.user == found.user]
            same = [entry for entry in own or near if groups.issuperset(_other_groups(entry))]
            memo[key] = _least_of(same or own or near, bool(own))
        family: Family | None = memo[key]
        return family

    @property
    def _oldest_first(self) -> list[Entry]:
        memo = self.remembered.memo
        if "oldest first" not in memo:
            all_ = (self.remembered.values(), self.remembered.gone.values(), self.remembered.left.values())
            memo["oldest first"] = sorted(chain.from_iterable(all_), key=lambda entry: entry.since)
        oldest_first: list[Entry] = memo["oldest first"]
        return oldest_first


def might_have(name: str, value: Value, before: Value) -> bool:
    """Whether a thread that had one value of a field may have given itself another without a right (sched_setattr(2)): nobody lowers a nice value,
    leaves SCHED_IDLE, becomes real-time, or gives up RESET_ON_FORK. Of a timer slack that is ours, whatever the kernel makes of it later is, too."""
    if name == TIMER_SLACK:
        return value == before
    if name == "nice" and isinstance(value, int) and isinstance(before, int):
        return value >= before
    if name != "policy" or not isinstance(value, tuple) or not isinstance(before, tuple):
        return True
    policy, priority, flags = value
    had_policy, had_priority, had_flags = before
    if had_flags & ~flags & sched.RESET_ON_FORK:
        return False
    if policy == had_policy:
        return priority <= had_priority
    return policy == sched.IDLE or policy in sched.FAIR and had_policy != sched.IDLE


def handed_on(name: str, before: Fields) -> Value:
    """What whoever has these values hands on of a field when it forks: with RESET_ON_FORK no right (sched(7))."""
    policy, _, flags = threads.numbers(before, "policy") if "policy" in before else ORDINARY
    if not flags & sched.RESET_ON_FORK:
        return before[name]
    is_fair = policy in (*sched.FAIR, sched.IDLE)
    if name == "policy":
        return (policy, 0, flags & ~sched.RESET_ON_FORK) if is_fair else ORDINARY
    if name == "nice":
        return _granted(name, before[name]) if is_fair else 0
    return before[name]


def granted(had: Fields) -> Fields:
    """What anybody may have instead."""
    return {name: _granted(name, value) for name, value in had.items()}


def _granted(name: str, value: Value) -> Value:
    if name == "policy" and isinstance(value, tuple) and value[0] not in (*sched.FAIR, sched.IDLE):
        return ORDINARY
    return max(0, value) if name == "nice" and isinstance(value, int) else value


def _least_of(entries: list[Entry], own: bool) -> Family | None:
    """The entries of one process; in place of those of several, one that gives no more than each of them had: a tenant that forks twice must
    not get what another one has. `own`: they are of the user of whom the orphan is."""
    pids = frozenset(entry.pid for entry in entries)
    if len(pids) < 2:
        return Family(Entries(entries), min(pids), pids=pids, guessed=True) if pids else None
    before: dict[str, set[Value]] = {}
    ours: dict[str, dict[Value, None]] = {}
    for entry in entries:
        for name, value in entry.before.items():
            before.setdefault(name, set()).add(value)
        for name, values in entry.ours.items():
            ours.setdefault(name, {}).update(dict.fromkeys(values))
    had = {name: _least(name, values, own) for name, values in before.items()}
    one = Entry(NOBODY, NOBODY, 0, 0, had, {name: list(values) for name, values in ours.items()})
    return Family(Entries([one]), NOBODY, pids=pids, guessed=True)


def _least(name: str, values: set[Value], own: bool) -> Value:
    """Of what several had: the value, if it is one; else SCHED_IDLE if one of them has it, who may not leave it, and all are of its user; else an
    ordinary policy, the most considerate nice value, every CPU that one of them had.
    Of cgroups the one with the least CPU time, and of these the deepest, if all are of its user; else the one that has them all: those of others
    are not to have it in theirs."""
    if len(values) == 1:
        return next(iter(values))
    if name == "policy":
        idle = next((value for value in values if isinstance(value, tuple) and value[0] == sched.IDLE), None)
        return idle if own and idle else ORDINARY
    if name == "nice":
        return max(0, *(value for value in values if isinstance(value, int)))
    if name == "affinity":
        return tuple(sorted({cpu for value in values if isinstance(value, tuple) for cpu in value}))
    if name == "runtime_ns":
        return 0
    if name == TIMER_SLACK:
        return max(value for value in values if isinstance(value, int))
    paths = sorted(map(str, values))
    if not own:
        return os.path.commonpath(paths)
    hierarchy = name.removeprefix(CGROUP)
    return min(paths, key=lambda path: (threads.cpu_quota(hierarchy, path), -path.count("/") if path != "/" else 0))


def groups_of(entry: Entry) -> list[tuple[str, Value]]:
    """The cgroups that we have put it in."""
    return [(name, path) for name, paths in entry.ours.items() if name.startswith(CGROUP) for path in paths]


def _other_groups(entry: Entry) -> list[tuple[str, Value]]:
    return [(name, path) for name, path in entry.before.items() if name.startswith(CGROUP) and name not in entry.ours]
