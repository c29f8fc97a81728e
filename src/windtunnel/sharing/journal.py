"""The journal: how threads ran before they were changed. JSON lines, appended, rewritten when there are many.

A line is written before the change that it records. A kill -9 in the middle of a line leaves a last line without its end, which is
ignored. A journal is valid until the next boot: then there are other threads.
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
    """One thread: how it ran (`before`), and what we changed since.

    `ours`: by field, the values that we set, or may have set, with earlier ones, because a crash can come between the line and the
    change. `whole`: a helper changes fields without a line; then every difference counts as ours.
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
        """Raises ProcessLookupError where it does not exist."""
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
    """The contents of a journal. `helpers`: processes that change threads for the holder. `settings`: files of the kernel, and the text
    that restores each."""

    holder: Process | None = None
    helpers: list[Process] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Contents:
    """Empty where the file does not exist or is of another boot. Raises UserError for a file that is not a journal."""
    found = Contents()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{path}: larger than {MOST_BYTES >> 20} MiB: not a journal")
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
            f"{path}: not a journal: {error}",
            remedy="nothing was restored from it; remove the file if it is not needed",
        ) from None
    return found


class _AnotherBoot(Exception):
    pass


def _take(found: Contents, line: dict[str, Any]) -> None:
    kind = line["is"]
    if kind == "journal":
        if line["version"] != VERSION:
            raise ValueError(f"version {line['version']}, this windtunnel reads version {VERSION}")
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


def _value(value: list[int] | int | str) -> Value:
    return tuple(value) if isinstance(value, list) else value


def boot() -> str:
    return BOOT.read_text().strip()


def line_of(entry: Entry) -> dict[str, Any]:
    """The line that records how the thread ran."""
    names = ("tid", "pid", "started", "since", "before")
    return {"is": "before"} | {name: getattr(entry, name) for name in names}


def lines_of(contents: Contents) -> list[dict[str, Any]]:
    """The shortest journal with the same contents."""
    holder = contents.holder
    assert holder is not None  # a journal is written by its holder only
    lines: list[dict[str, Any]] = [
        {
            "is": "journal",
            "version": VERSION,
            "boot": boot(),
            "pid": holder.pid,
            "started": holder.started,
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
    """The open journal of one holder. Each line is written to the kernel at once: a kill -9 of the holder loses nothing."""

    def __init__(self, path: Path, contents: Contents):
        self.path = path
        self._lines = 0
        self._fd = -1
        self.rewrite(contents)

    def add(self, contents: Contents, *lines: dict[str, Any]) -> None:
        """`contents`: the contents of the journal with these lines."""
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


def _text(lines: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
