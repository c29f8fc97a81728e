"""Changes threads, and restores them after every kind of end.

`Journal` remembers how a thread ran before it is changed for the first time; a `Guardian`, a process of its own, puts everything back
when whoever holds the journal is gone, kill -9 included; and `windtunnel share restore` does when both are gone.

    with held(directory() / "mine.journal") as journal:
        journal.change(tid, affinity=(1,), nice=5)
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from windtunnel.engine.leftovers import runtime_directory
from windtunnel.errors import UserError
from windtunnel.sharing import inherited_changes, journal, sched, threads
from windtunnel.sharing.journal import Entry, Process
from windtunnel.sharing.threads import Fields, Value

SUFFIX = ".journal"


def directory() -> Path:
    """Where journals lie when nobody says otherwise: gone after a boot, as the threads are."""
    return runtime_directory() / "windtunnel"


class Journal:
    """How threads ran before they were changed. One holder at a time; its methods may be called from any of its threads.

    A journal whose holder is dead is taken over with all that it remembers: what was before stays what was before.
    Raises UserError where another process that lives holds it, or the file cannot be written.
    """

    def __init__(self, path: Path):
        self.path = path
        self._lock = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            self._contents = journal.read(path)
            me, holder = Process.of(os.getpid()), self._contents.holder
            if holder is not None and holder != me and holder.lives:
                raise UserError(
                    f"{path} is held by process {holder.pid}", remedy="stop it first, or use another journal"
                )
            inherited_changes.end(self._contents.helpers)
            self._contents.helpers = []
            self._contents.holder = me
            try:
                self._file = journal.File(path, self._contents)
            except OSError as error:
                raise UserError(f"{path} cannot be written: {error.strerror}") from None

    @property
    def tids(self) -> list[int]:
        return list(self._contents.entries)

    def before(self, tid: int) -> Fields:
        """How a remembered thread ran. Raises KeyError."""
        return self._contents.entries[tid].before

    def remember(self, tid: int) -> None:
        """To be called before anything of a thread is changed by hand: all that then differs will be put back.

        Raises UserError where no such thread is, or it is SCHED_DEADLINE.
        """
        with self._lock:
            entry = self._entry(tid)
            if not entry.whole:
                entry.whole = True
                self._add({"is": "whole", "tid": tid})

    def allow(self, tid: int, **values: list[Value]) -> None:
        """Remembers a thread, and says by field which values a helper of ours may give it from now on."""
        with self._lock:
            self._entry(tid)
            self.allow_all({tid: values})

    def allow_all(self, values: Mapping[int, dict[str, list[Value]]]) -> None:
        """As `allow`, of threads that are remembered already: whether each is still the same is not looked at again."""
        with self._lock:
            lines = []
            for tid, them in values.items():
                ours = (self._contents.entries.get(tid) or self._entry(tid)).ours
                if any(ours.get(name) != value for name, value in them.items()):
                    ours |= them
                    lines.append({"is": "ours", "tid": tid, "values": them})
            if lines:
                self._add(*lines)

    def change(self, tid: int, cgroups: dict[str, str] | None = None, **fields: Value) -> None:
        """Remembers a thread and changes it: `affinity`, `policy` (policy, priority, flags), `nice`, `runtime_ns`, and `cgroups`
        (path by hierarchy). What it changes of this by itself later is its own, and stays when the rest is put back.

        Raises UserError where it cannot be, in words.
        """
        fields |= {threads.CGROUP + hierarchy: path for hierarchy, path in (cgroups or {}).items()}
        with self._lock:
            ours = self._entry(tid).ours
            self.allow_all(
                {tid: {name: [*(v for v in ours.get(name, []) if v != value), value] for name, value in fields.items()}}
            )
            try:
                threads.write(tid, fields)
            except ProcessLookupError:
                raise UserError(f"thread {tid} has ended") from None
            except OSError as error:
                raise UserError(
                    f"thread {tid} cannot be given {_words(fields)}: {error.strerror}", _remedy(tid, fields, error)
                ) from None
            ours |= {name: [value] for name, value in fields.items()}  # until here it may have had what it had before

    def helper(self, pid: int) -> None:
        """A process that changes threads for us. The guardian ends it before it puts them back."""
        with self._lock:
            process = Process.of(pid)
            self._contents.helpers.append(process)
            self._add({"is": "helper", "pid": pid, "started": process.started})

    def set_setting(self, path: Path, before: str, to: str) -> None:
        """Writes a file of the kernel's (a scheduler feature, a sysctl), and remembers what to write to have it as it was.

        Raises UserError where it may not be written.
        """
        with self._lock:
            if str(path) not in self._contents.settings:
                self._contents.settings[str(path)] = before
                self._add({"is": "setting", "path": str(path), "before": before})
            try:
                path.write_text(to)
            except OSError as error:
                raise UserError(f"{path} cannot be set to {to}: {error.strerror}") from None

    def put_settings_back(self) -> list[str]:
        with self._lock:
            said = inherited_changes.put_settings_back(self._contents.settings)
            self._contents.settings.clear()
            self._add({"is": "settings back"})
            return said

    def put_back(self, tid: int) -> list[str]:
        """One thread, and what it has forked, as it was before; forgets it. Returns what was left as it is, and why. One that is
        not remembered is passed over."""
        with self._lock:
            entry = self._contents.entries.get(tid)
            if entry is None:
                return []
            alone = not any(other.pid == entry.pid for other in self._contents.entries.values() if other is not entry)
            said = inherited_changes.put_back([entry], self._contents.entries, with_heirs=alone)
            self._forget(tid)
            return said

    def put_back_all(self) -> list[str]:
        """Every thread, and what they have forked, and every setting. Returns what was left as it is, and why."""
        with self._lock:
            said = self.put_settings_back()
            said += inherited_changes.put_back(list(self._contents.entries.values()), self._contents.entries)
            for tid in self.tids:
                self._forget(tid)
            return said

    def close(self) -> None:
        """Puts everything back, and removes the file."""
        with self._lock:
            self.put_back_all()
            self._file.close()
            self.path.unlink(missing_ok=True)

    def _entry(self, tid: int) -> Entry:
        entry = self._contents.entries.get(tid)
        if entry is not None and entry.started == threads.started(tid):
            threads.check_policy(tid)
            return entry
        found = threads.check(tid)
        entry = Entry(tid, found.pid, found.started, threads.ticks_now(), threads.read(tid))
        self._contents.entries[tid] = entry
        self._add(journal.line_of(entry))
        return entry

    def _forget(self, tid: int) -> None:
        del self._contents.entries[tid]
        self._add({"is": "back", "tid": tid})

    def _add(self, *lines: dict[str, Any]) -> None:
        self._file.add(self._contents, *lines)


class Guardian:
    """A process in a session of its own that waits until we are gone, and then puts back what the journal remembers.

    It holds the read end of a pipe; we hold the only write end, which no program that we start inherits. (A child that was forked
    and went on in Python without exec would hold it too.)
    """

    def __init__(self, path: Path):
        self.path = path
        self._start()

    def _start(self) -> None:
        read_end, self._write_end = os.pipe()
        me = Process.of(os.getpid())
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "windtunnel.sharing.guardian",
                    self.path,
                    *map(str, (read_end, me.pid, me.started)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[read_end],
                start_new_session=True,
            )
        finally:
            os.close(read_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def keep(self) -> bool:
        """Starts another where it has been ended. Returns whether it had been."""
        if self._process.poll() is None:
            return False
        os.close(self._write_end)
        self._start()
        return True

    def close(self) -> None:
        """Lets it go. To be called when the journal is closed; it finds nothing to do then."""
        os.close(self._write_end)
        self._process.wait()


@contextlib.contextmanager
def held(path: Path) -> Iterator[Journal]:
    """A journal with its guardian; at the end everything is restored."""
    journal_ = Journal(path)
    guardian = Guardian(path)
    try:
        yield journal_
    finally:
        journal_.close()
        guardian.close()


def restore(path: Path) -> tuple[int, list[str]]:
    """Puts back what a journal remembers whose holder is gone, ends the helpers first, and removes it.

    Returns how many threads it remembered, and what was left as it is. Raises UserError while its holder lives.
    """
    with _locked(path):
        contents = journal.read(path)
        if contents.holder is not None and contents.holder.lives:
            raise UserError(f"{path} is held by process {contents.holder.pid}", remedy="stop it first")
        inherited_changes.end(contents.helpers)
        said = inherited_changes.put_settings_back(contents.settings)
        said += inherited_changes.put_back(list(contents.entries.values()), contents.entries)
        path.unlink(missing_ok=True)
    return len(contents.entries), said


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time takes a journal over or puts it back."""
    try:
        directory_fd = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UserError(f"{path.parent}: {error.strerror}") from None
    try:
        fcntl.flock(directory_fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory_fd)


def _words(fields: Fields) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def _remedy(tid: int, fields: Fields, error: OSError) -> str | None:
    if not isinstance(error, PermissionError):
        return None
    real_time = "policy" in fields and threads.numbers(fields, "policy")[0] in (sched.FIFO, sched.RR)
    child = [path for name, path in threads.read(tid).items() if name.startswith(threads.CGROUP) and path != "/"]
    if real_time and child:
        return f"CAP_SYS_NICE; with RT_GROUP_SCHED its cgroup also needs a real-time budget (cpu.rt_runtime_us): {child[0]}"
    return "this needs CAP_SYS_NICE (or root)"
