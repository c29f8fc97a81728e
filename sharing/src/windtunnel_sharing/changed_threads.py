"""Changes threads, and restores them after every kind of end.

`Journal` records how a thread ran before its first change. A `Guardian`, a separate process, restores everything when the holder of the
journal has ended, also after kill -9. `windtunnel share restore` does so when both have ended.

    with held(journal.directory() / "mine.journal") as journal:
        journal.change(tid, affinity=(1,), nice=5)
"""

import contextlib
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from windtunnel.api.errors import UserError, signal_name
from windtunnel.api.files import own_directory, readable
from windtunnel_sharing import claims, inherited_changes, journal, left_behind, own_process, sched, threads
from windtunnel_sharing.entries import Entry
from windtunnel_sharing.inherited_changes import Released
from windtunnel_sharing.other_holders import OtherHolders
from windtunnel_sharing.rounds import Budgets
from windtunnel_sharing.threads import CannotChange, Ended, Fields, Process, Value

REST_S = 1.0
"""Between two starts of a guardian."""


@dataclass
class _Leaving:
    """Threads that have been put back, each the last one of its process. `forked` restores those that they forked, step by step, and yields None
    at its end; `said`: of all that was refused. `pids`: their processes."""

    entries: dict[int, Entry] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    forked: Iterator[str | None] = field(default_factory=lambda: iter(()))

    def add(self, entry: Entry, said: list[str]) -> None:
        self.entries[entry.tid] = entry
        self.pids.add(entry.pid)
        self.said += said

    def drop(self, tid: int) -> None:
        """It is shared again."""
        if (entry := self.entries.pop(tid, None)) is not None:
            self.pids.discard(entry.pid)


class Journal:
    """How threads ran before they were changed. One holder at a time; its methods may be called from any of its threads.

    A journal whose holder has ended is restored first: what it says of a thread may be long past. What cannot be restored stays in it.
    Raises UserError where a living process holds it, where it cannot be written, or where its directory is not ours alone. A method that
    changes something raises UserError, and changes nothing, where its line cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.RLock()
        self.budget = Budgets().forked
        """For each look at threads that one forked which is put back; by default there is no bound."""
        self._others = OtherHolders(path)
        self._leaving, self._next = _Leaving(), _Leaving()
        """Those whose forked threads are looked at now, all at once, and those that left since."""
        own_directory.make(path.parent)
        with left_behind.locked(path):
            self._contents = journal.read(path)
            me, holder = Process.of(os.getpid()), self._contents.holder
            if holder is not None and holder != me and holder.stays:
                raise UserError(
                    f"{path} is held by process {holder.pid}", remedy="stop it first, or use another journal"
                )
            left_behind.restore_contents(self._contents)
            self._contents.holder = me
            self._file = journal.File(path, self._contents)

    @property
    def tids(self) -> list[int]:
        return list(self._contents.entries)

    def allow(self, tid: int, **values: list[Value]) -> None:
        """Records a thread, and by field the values that a helper may set from now on."""
        with self._lock:
            self._entry(tid)
            self.allow_all({tid: values})

    def allow_all(self, values: Mapping[int, dict[str, list[Value]]]) -> None:
        """As `allow`, for recorded threads, without a check that each is still the same thread."""
        with self._lock:
            lines = []
            for tid, given in values.items():
                them = _with_timer_slack(given)
                ours = (self._contents.entries.get(tid) or self._entry(tid)).ours
                if any(value not in ours.get(name, []) for name, values in them.items() for value in values):
                    lines.append({"is": "ours", "tid": tid, "values": them})
            if lines:
                self._add(*lines)

    def change(self, tid: int, cgroups: dict[str, str] | None = None, **fields: Value) -> None:
        """Remembers a thread and changes it: `affinity`, `policy` (policy, priority, flags), `nice`, `runtime_ns`, and `cgroups`
        (path by hierarchy). What it changes of this by itself later is its own, and stays when the rest is put back, unless that is a value
        which it has had from us before.

        Raises UserError in words: CannotChange where the kernel refuses.
        """
        fields |= {threads.CGROUP + hierarchy: path for hierarchy, path in (cgroups or {}).items()}
        with self._lock, threads.of_one(tid):
            entry = self._entry(tid)
            for hierarchy in cgroups or {}:
                if (name := threads.CGROUP + hierarchy) in entry.before and name not in entry.ours:
                    threads.check_place(tid, hierarchy, str(entry.before[name]))
            self.allow_all({tid: {name: [value] for name, value in fields.items()}})
            try:
                threads.write(tid, fields)
            except ProcessLookupError:
                raise Ended(tid) from None
            except OSError as error:
                words = f"thread {tid} cannot be given {_words(fields)}: {error.strerror}"
                raise CannotChange(tid, words, _remedy(tid, fields, error)) from None

    def helper(self, pid: int) -> None:
        """Adds a process that changes threads for us. The guardian ends it before it restores them."""
        with self._lock:
            self._add({"is": "helper", "pid": pid, "started": Process.of(pid).started})

    def set_setting(self, path: Path, before: str, to: str) -> None:
        """Writes a file of the kernel's (a scheduler feature, a sysctl), and remembers what to write to have it as it was.

        Raises UserError where it may not be written, ValueError for a file that no journal may restore.
        """
        journal.check_setting(path)
        with self._lock:
            if str(path) not in self._contents.settings:
                self._add({"is": "setting", "path": str(path), "before": before})
            try:
                path.write_text(to)
            except OSError as error:
                raise UserError(f"{path} cannot be set to {to}: {error.strerror}") from None

    def put_settings_back(self) -> list[str]:
        with self._lock:
            said = inherited_changes.put_settings_back(self._contents.settings)
            if not said:
                self._done({"is": "settings back"})
            return list(said.values())

    def put_back(self, tid: int) -> list[str]:
        """Restores one thread, and those that it forked, and removes its entry, unless it still has something of ours. Of thousands that it
        forked some are left to `go_on`. Returns what stays changed, and why. A thread without an entry is ignored."""
        with self._lock:
            entry = self._contents.entries.get(tid)
            if entry is None:
                return []
            self._tell_the_first(entry)
            said = inherited_changes.put_back_own([entry], self._contents.entries)
            leaving = (entry.pid in self._leaving.pids) + (entry.pid in self._next.pids)
            if len(self._contents.entries.of(entry.pid)) - leaving <= 1:
                self._next.add(entry, said)
                said = said + self._go_on()
            else:
                self._finish(entry, said)
            return said

    def go_on(self) -> tuple[list[str], bool]:
        """Restores some more of those that threads forked which have been put back. Returns what stays changed, and why, and whether there are
        more."""
        with self._lock:
            said = self._go_on()
            return said, bool(self._leaving.entries or self._next.entries)

    def _go_on(self) -> list[str]:
        said: list[str] = []
        if not self._leaving.entries:
            self._leaving, self._next = self._next, _Leaving()
            entries, remembered = list(self._leaving.entries.values()), self._contents.entries
            forked = inherited_changes.put_back_forked(entries, remembered, self._leaving.pids)
            self._leaving.forked = chain(forked, [None])
        if not self._leaving.entries:
            return said
        leaving = self._leaving
        for words in self.budget.some(leaving.forked, sys.maxsize):
            if words is None:
                self._leaving = _Leaving()
                for entry in leaving.entries.values():
                    self._finish(entry, leaving.said)
            elif words:
                said.append(words)
                leaving.said.append(words)
        return said

    def _tell_the_first(self, entry: Entry) -> None:
        """Who has ended may have execed, and be the first thread of its process now: what it had of ours that one may have."""
        first = self._contents.entries.get(entry.pid)
        if first not in (None, entry) and threads.started(entry.tid) != entry.started:
            with contextlib.suppress(UserError):  # without space: it is put back as far as it is known
                self.allow_all({entry.pid: entry.ours})

    def _finish(self, entry: Entry, said: list[str]) -> None:
        if not (said and inherited_changes.is_changed(entry)):
            self._forget(entry.tid)

    def release(
        self, tids: Iterable[int], cgroups: Mapping[str, str], own: bool = False, young_s: float = 0.0
    ) -> Released:
        """Lets threads go that are in a cgroup of ours and of no process with a recorded thread, unless `own`: recorded ones have forked them. Each
        gets what its parent had, and these cgroups (path by hierarchy) where nobody knows any more whose it is. Those that began less than
        `young_s` ago are left until later."""
        with self._lock:
            return inherited_changes.release(tids, self._contents.entries, cgroups, own, young_s)

    def put_back_all(self) -> list[str]:
        """Restores every thread, those that they forked, and every setting. Returns what stays changed, and why."""
        with self._lock:
            self._leaving, self._next = _Leaving(), _Leaving()
            said = self.put_settings_back()
            entries = list(self._contents.entries.values())
            said += inherited_changes.put_back(entries, self._contents.entries)
            for entry in entries:
                self._finish(entry, said)
            return said

    def close(self) -> list[str]:
        """Restores everything, and removes the file, unless something stays changed that is ours: `restore` can try again. Returns what stays
        changed, and why."""
        with self._lock:
            said = self.put_back_all()
            self._file.close()
            changed = any(inherited_changes.is_changed(entry) for entry in self._contents.entries.values())
            if not (said and (changed or self._contents.settings)):
                journal.remove(self.path)
            return said

    def _entry(self, tid: int) -> Entry:
        entry = self._contents.entries.get(tid)
        for leaving in (self._leaving, self._next):
            leaving.drop(tid)
        with threads.of_one(tid):
            if entry is not None and entry.started == threads.started(tid):
                threads.check_policy(tid)
                return entry
            if entry is not None:  # whoever has its number now is not who was meant
                self._forget(tid)
                raise Ended(tid)
            found = threads.check(tid)
            self._others.check(tid, found)
            now, back = inherited_changes.inherited_by(tid, found, self._contents.entries)
            before = threads.asked(now) | back
        journal.check_paths(tid, before)
        since = found.started if back else threads.ticks_now()  # what it has inherited it may have handed on at once
        lines = [journal.line_of(Entry(tid, found.pid, found.started, since, before, users=found.users))]
        if back:
            lines.append({"is": "ours", "tid": tid, "values": {name: [now[name]] for name in back}})
        self._add(*lines)
        return self._contents.entries[tid]

    def _forget(self, tid: int) -> None:
        self._done({"is": "back", "tid": tid})

    def _done(self, line: dict[str, Any]) -> None:
        """Something is restored. Where that cannot be written it stays recorded: to restore it once more changes nothing."""
        with contextlib.suppress(UserError):
            self._add(line)

    def _add(self, *lines: dict[str, Any]) -> None:
        self._file.add(self._contents, *lines)


class Guardian:
    """A process in its own session that waits for our end, and then restores what the journal records. One that ends before us is replaced.

    It holds the read end of a pipe; we hold the only write end, which no program that we start inherits. (A child that was forked
    and went on in Python without exec would hold it too.)
    """

    def __init__(self, path: Path, say: Callable[[str], object] = lambda line: None, claims: Sequence[int] = ()):
        """`say` is called, on a thread of its own, with a line about a guardian that ended. `claims` are descriptors that it holds as well:
        what we claim is claimed until everything is restored."""
        self.path, self._claims = path, claims
        self._say = say
        try:
            self._start()
        except OSError as error:
            raise UserError(f"no guardian process can be started: {error.strerror}") from None
        self._stop_read, self._stop_write = os.pipe()
        self._watch = threading.Thread(target=self._keep, name="keeps the guardian", daemon=True)
        threads.start(self._watch)

    def _start(self) -> None:
        """Raises OSError."""
        read_end, self._write_end = os.pipe()
        me = Process.of(os.getpid())
        try:
            arguments = map(str, (self.path.absolute(), read_end, me.pid, me.started))
            self._process = own_process.start("windtunnel_sharing.guardian", [*arguments], [read_end, *self._claims])
        except OSError:
            self._let_go()
            raise
        finally:
            os.close(read_end)

    def _let_go(self) -> None:
        if self._write_end >= 0:
            os.close(self._write_end)
        self._write_end = -1

    @property
    def pid(self) -> int:
        return self._process.pid

    def _keep(self) -> None:
        """Until `close`."""
        while self._ends_first():
            how = signal_name(self._process.wait()) or "by itself"
            self._let_go()
            while True:
                try:
                    self._start()
                    self._say(f"the guardian process ended ({how}); process {self.pid} is the new one")
                    break
                except OSError as error:
                    self._say(f"the guardian process ended ({how}), and no other can be started: {error.strerror}")
                    if self._closing(REST_S):
                        return
            if self._closing(REST_S):
                return

    def _ends_first(self) -> bool:
        """Waits for its end, or for `close`."""
        guardian = os.pidfd_open(self.pid)
        try:
            return not readable(self._stop_read, guardian)
        finally:
            os.close(guardian)

    def _closing(self, seconds: float) -> bool:
        return readable(self._stop_read, seconds=seconds)

    def close(self) -> None:
        """Ends it. Call it after the journal is closed: then it has nothing to do, unless something could not be restored: then it waits for our
        end, and tries again."""
        os.close(self._stop_write)
        self._watch.join()
        os.close(self._stop_read)
        self._let_go()
        if not self.path.exists():
            self._process.wait()


@contextlib.contextmanager
def held(path: Path, say: Callable[[str], object] = lambda line: None, claims: Sequence[int] = ()) -> Iterator[Journal]:
    """A journal with its guardian; at the end everything is restored, and what stays changed is said. What killed holders left is restored
    first. `say`, `claims`: of `Guardian`."""
    left_behind.restore_all(say)
    with contextlib.ExitStack() as last, contextlib.ExitStack() as first:
        journal_ = Journal(path)
        first.callback(lambda: [say(line) for line in journal_.close()])
        last.callback(Guardian(path, say, claims).close)
        yield journal_


@contextlib.contextmanager
def held_alone(path: Path, cpus: Iterable[int]) -> Iterator[Journal]:
    """As `held`, on CPUs that no daemon, probe or figure shares meanwhile: two that change the same softirq thread would each take the other's
    change for how it ran. Raises UserError where somebody shares one."""
    with claims.claimed(cpus, path) as claimed, held(path, claims=claimed) as journal_:
        yield journal_


def _with_timer_slack(values: dict[str, list[Value]]) -> dict[str, list[Value]]:
    """Also what the kernel takes from a thread with one of these policies."""
    policies = [policy for policy in values.get("policy", ()) if isinstance(policy, tuple)]
    return values | {threads.TIMER_SLACK: [0]} if any(policy[0] in sched.REAL_TIME for policy in policies) else values


def _words(fields: Fields) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def _remedy(tid: int, fields: Fields, error: OSError) -> str | None:
    if error.errno == errno.EINVAL and "affinity" in fields:
        return "its cpuset has none of these CPUs: AllowedCPUs= of its unit, docker run --cpuset-cpus"
    if not isinstance(error, PermissionError):
        return None
    real_time = "policy" in fields and threads.numbers(fields, "policy")[0] in sched.REAL_TIME
    child = [path for name, path in threads.read(tid).items() if name.startswith(threads.CGROUP) and path != "/"]
    if real_time and child:
        return f"CAP_SYS_NICE; with RT_GROUP_SCHED its cgroup also needs a real-time runtime (cpu.rt_runtime_us): {child[0]}"
    return "this needs CAP_SYS_NICE (or root)"
