"""The file that remembers how threads ran before they were changed: JSON lines, appended, rewritten when they are many.

A line is whole or it is not there: a kill -9 in the middle of one leaves a last line without its end, which is passed over; and it
is written before the change that it speaks of. It need not outlive the machine: after a boot there are other threads.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.sharing import threads
from windtunnel.sharing.threads import Fields, Value

VERSION = 1
MOST_LINES = 4096
MOST_BYTES = 64 << 20
BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass
class Entry:
    """One thread: how it ran (`before`), and what we have made of it since.

    `ours` has by field the values that we have given, or may have: also those before the last, because a crash can come between the
    line and the change. `whole`: somebody changes fields without saying so; then all that differs is taken for ours.
    """

    tid: int
    pid: int
    started: int
    since: int
    before: Fields
    whole: bool = False
    ours: dict[str, list[Value]] = field(default_factory=dict)


@dataclass(frozen=True)
class Process:
    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Process":
        """Raises ProcessLookupError where there is none."""
        found = threads.stat(pid)
        if found is None:
            raise ProcessLookupError(f"no process {pid}")
        return cls(pid, found.started)

    @property
    def lives(self) -> bool:
        found = threads.stat(self.pid)
        return found is not None and found.started == self.started


@dataclass
class Contents:
    """What a journal says. `helpers` are processes that change threads for the holder, by the same right; `settings` are files of the
    kernel's and what to write into each to have it as it was."""

    holder: Process | None = None
    helpers: list[Process] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Contents:
    """Of a file that need not be there; of another boot's nothing. Raises UserError for what is no journal."""
    found = Contents()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: larger than {MOST_BYTES >> 20} MiB, and no journal")
        *lines, _ = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return found
    try:
        for line in lines:
            _take(found, json.loads(line))
    except _AnotherBoot:
        return Contents()
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: not a journal of places: {error}",
            remedy="nothing was put back from it; remove it when nobody needs it",
        ) from None
    return found


class _AnotherBoot(Exception):
    pass


def _take(found: Contents, line: dict[str, Any]) -> None:
    kind = line["is"]
    if kind == "journal":
        if line["version"] != VERSION:
            raise ValueError(f"version {line['version']}, and this reads {VERSION}")
        if line["boot"] != boot():
            raise _AnotherBoot
        found.holder = Process(line["pid"], line["started"])
    elif kind == "helper":
        found.helpers.append(Process(line["pid"], line["started"]))
    elif kind == "before":
        before = {name: _value(value) for name, value in line["before"].items()}
        found.entries[line["tid"]] = Entry(line["tid"], line["pid"], line["started"], line["since"], before)
    elif kind == "whole":
        found.entries[line["tid"]].whole = True
    elif kind == "ours":
        entry = found.entries[line["tid"]]
        for name, values in line["values"].items():
            entry.ours[name] = [_value(value) for value in values]
    elif kind == "setting":
        found.settings[line["path"]] = line["before"]
    elif kind == "settings back":
        found.settings.clear()
    elif kind == "back":
        found.entries.pop(line["tid"], None)
    else:
        raise ValueError(f"a line of kind {kind!r}")


def _value(value) -> Value:
    return tuple(value) if isinstance(value, list) else value


def boot() -> str:
    return BOOT.read_text().strip()


def line_of(entry: Entry) -> dict[str, Any]:
    """That remembers how the thread ran."""
    names = ("tid", "pid", "started", "since", "before")
    return {"is": "before"} | {name: getattr(entry, name) for name in names}


def lines_of(contents: Contents) -> list[dict[str, Any]]:
    """The shortest journal that says the same."""
    lines = [
        {
            "is": "journal",
            "version": VERSION,
            "boot": boot(),
            "pid": contents.holder.pid,
            "started": contents.holder.started,
        }
    ]
    lines += [{"is": "helper", "pid": one.pid, "started": one.started} for one in contents.helpers if one.lives]
    lines += [{"is": "setting", "path": path, "before": before} for path, before in contents.settings.items()]
    for entry in contents.entries.values():
        lines.append(line_of(entry))
        if entry.whole:
            lines.append({"is": "whole", "tid": entry.tid})
        if entry.ours:
            lines.append({"is": "ours", "tid": entry.tid, "values": entry.ours})
    return lines


class File:
    """The open journal of one holder. Written to the kernel at each line: a kill -9 of the holder loses nothing."""

    def __init__(self, path: Path, contents: Contents):
        self.path = path
        self._lines = 0
        self._fd = -1
        self.rewrite(contents)

    def add(self, contents: Contents, *lines: dict[str, Any]) -> None:
        """`contents` is what the journal says with these lines."""
        os.write(self._fd, _text(lines))
        self._lines += len(lines)
        if self._lines > MOST_LINES + 4 * len(contents.entries):
            self.rewrite(contents)

    def rewrite(self, contents: Contents) -> None:
        lines = lines_of(contents)
        new = self.path.with_name(self.path.name + ".new")
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(fd, _text(lines))
        os.rename(new, self.path)
        self.close()
        self._fd, self._lines = fd, len(lines)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _text(lines: Iterable[dict]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
