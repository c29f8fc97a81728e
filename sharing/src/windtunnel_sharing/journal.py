"""The journal: how threads ran before they were changed. JSON lines, appended, rewritten when there are many.

A line is written before the change that it records: where it cannot be, the change is not made. A kill -9 in the middle of a line leaves a
last line without its end, which is ignored. A journal is valid until the next boot: then there are other threads.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, Strict, TypeAdapter, ValidationError

from windtunnel.api.errors import UserError, cannot_write
from windtunnel.api.files import own_directory
from windtunnel_sharing import sched
from windtunnel_sharing.entries import Entries, Entry
from windtunnel_sharing.threads import CGROUP, TIMER_SLACK, CannotChange, Fields, Process, Value

T = TypeVar("T")
VERSION = 1
SUFFIX = ".journal"
MOST_LINES = 4096
"""Beside four of each thread, until it is rewritten."""
LEAST_BYTES = 1 << 20
"""From these on it is rewritten as soon as it is twice as long as it was then."""
MOST_BYTES = 256 << 20
MOST_PATHS = 8 << 10
"""Characters of the cgroups of one thread, as JSON: its user chooses their names. So 4,096 threads have a journal that can be read."""
BOOT = Path("/proc/sys/kernel/random/boot_id")
SETTINGS = (Path("/proc/sys"), Path("/sys/kernel/debug/sched"))
"""Below these are the files of the kernel that may be written when a journal is restored."""
NEW = ".new"
"""Ends the name of a journal that is being rewritten."""


def _for_the_kernel(text: str) -> str:
    """Raises ValueError for what is the name of no file."""
    if b"\0" in os.fsencode(text):
        raise ValueError("a NUL is in it")
    return text


_Number = Annotated[int, Strict(), Field(ge=1, le=1 << 22)]
_Ticks = Annotated[int, Strict(), Field(ge=0, lt=1 << 63)]
_U32 = Annotated[int, Strict(), Field(ge=0, lt=1 << 32)]
_U64 = Annotated[int, Strict(), Field(ge=0, lt=1 << 64)]
_Cpu = Annotated[int, Strict(), Field(ge=0, lt=1 << 16)]
_Policy = Annotated[int, Strict(), Field(ge=0, lt=1 << 8)]
_Priority = Annotated[int, Strict(), Field(ge=0, le=99)]
_Flags = Annotated[int, Strict(), Field(ge=0, le=sched.RESET_ON_FORK)]
_Nice = Annotated[int, Strict(), Field(ge=-20, le=19)]
_NUMBERS: dict[str, TypeAdapter[int]] = {
    "tid": TypeAdapter(_Number),
    "pid": TypeAdapter(_Number),
    "started": TypeAdapter(_Ticks),
    "since": TypeAdapter(_Ticks),
}
_USERS = TypeAdapter(tuple[_U32, ...])
_TEXT = TypeAdapter(Annotated[str, Strict(), AfterValidator(_for_the_kernel)])
_KINDS: dict[str, TypeAdapter[Value]] = {
    "affinity": TypeAdapter(tuple[_Cpu, ...]),
    "policy": TypeAdapter(tuple[_Policy, _Priority, _Flags]),
    "nice": TypeAdapter(_Nice),
    "runtime_ns": TypeAdapter(_U32),
    TIMER_SLACK: TypeAdapter(_U64),
}
"""The fields of a thread; each hierarchy of cgroups has one more."""
SPACE = "free some space: no thread is changed without its line in the journal"


def directory() -> Path:
    """The default directory of journals. Raises UserError where it is there and is not ours alone."""
    return own_directory.of_runtime()


@dataclass
class Contents:
    """The contents of a journal. `helpers`: processes that change threads for the holder. `settings`: files of the kernel, and the text
    that restores each."""

    holder: Process | None = None
    helpers: list[Process] = field(default_factory=list)
    entries: Entries = field(default_factory=Entries)
    settings: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Contents:
    """Empty where the file does not exist or is of another boot. Raises UserError for a file that is not a journal, or not ours alone."""
    found = Contents()
    try:
        *lines, _ = own_directory.read(path, MOST_BYTES).split(b"\n")
    except FileNotFoundError:
        return found
    number = 0
    try:
        for number, line in enumerate(lines, 1):
            take(found, json.loads(line))  # pydantic's parser refuses the names of cgroups that are not UTF-8
    except _AnotherBoot:
        return Contents()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"{path}, line {number}: not a journal: {error}",
            remedy="nothing was restored from it; remove the file if it is not needed",
        ) from None
    return found


class _AnotherBoot(Exception):
    pass


def take(contents: Contents, line: dict[str, Any]) -> None:
    """What a line says becomes part of the contents. Raises ValueError, KeyError, TypeError or AttributeError for one that is malformed."""
    kind = line["is"]
    if (kind == "journal") != (contents.holder is None):
        raise ValueError("the first line, and no other one, says whose journal it is")
    if kind == "journal":
        if line["version"] != VERSION:
            raise ValueError(f"version {line['version']}, this windtunnel reads version {VERSION}")
        if line["boot"] != boot():
            raise _AnotherBoot
        contents.holder = _process(line)
    elif kind == "helper":
        contents.helpers.append(_process(line))
    elif kind == "before":
        tid, pid, started, since = (_number(line, name) for name in ("tid", "pid", "started", "since"))
        before = {name: _value(name, value) for name, value in line["before"].items()}
        users = _checked(_USERS, "users", line.get("users", ()))
        contents.entries[tid] = Entry(tid, pid, started, since, before, users=users)
    elif kind == "ours":
        entry = contents.entries[_number(line, "tid")]
        for name, values in line["values"].items():
            contents.entries.allow(entry, name, [_value(name, value) for value in values])
    elif kind == "setting":
        path, text = (_checked(_TEXT, name, line[name]) for name in ("path", "before"))
        check_setting(Path(path))
        text.encode()  # as it is written
        contents.settings[path] = text
    elif kind == "settings back":
        contents.settings.clear()
    elif kind == "back":
        contents.entries.pop(_number(line, "tid"), None)
    else:
        raise ValueError(f"a line of kind {kind!r}")


def check_setting(path: Path) -> None:
    """Raises ValueError for a file that no journal may restore."""
    if ".." in path.parts or not any(root in path.parents for root in SETTINGS):
        raise ValueError(f"{path} is not below {' or '.join(map(str, SETTINGS))}")


def _process(line: dict[str, Any]) -> Process:
    return Process(_number(line, "pid"), _number(line, "started"))


def _number(line: dict[str, Any], name: str) -> int:
    """Nothing that is made a number of: 1e999 cannot be, and "7" is not what was written."""
    return _checked(_NUMBERS[name], name, line[name])


def _checked(kind: TypeAdapter[T], name: str, value: object) -> T:
    """Raises ValueError in one line."""
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{name}: {error.errors(include_url=False)[0]['msg']}") from None


def _value(name: str, value: list[int] | int | str) -> Value:
    """Of a field. Raises ValueError for one that is none, or whose value no thread has."""
    if name.startswith(CGROUP):
        return _checked(_TEXT, repr(name), value)
    if name not in _KINDS:
        raise ValueError(f"a field {name!r}")
    return _checked(_KINDS[name], name, value)


def boot() -> str:
    return BOOT.read_text().strip()


def check_paths(tid: int, before: Fields) -> None:
    """Raises CannotChange for a thread whose cgroups have longer names than a journal takes."""
    length = sum(len(json.dumps(path)) for name, path in before.items() if name.startswith(CGROUP))
    if length > MOST_PATHS:
        words = (
            f"thread {tid}: the paths of its cgroups have {length:,} characters, and the journal takes {MOST_PATHS:,}"
        )
        raise CannotChange(tid, words, "cgroups with shorter names")


def line_of(entry: Entry) -> dict[str, Any]:
    """The line that records how the thread ran."""
    names = ("tid", "pid", "started", "since", "before", "users")
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
    for entry in contents.entries.left.values():
        lines += _left(entry)
    gone = dict(contents.entries.gone)
    for entry in contents.entries.values():
        first = gone.pop(entry.pid, None)  # behind another one of its process, before its number is somebody's again
        before = first is not None and first.tid == entry.tid
        lines += [*(_left(first) if first and before else []), *_all_of(entry)]
        lines += _left(first) if first and not before else []
    return lines


def _left(entry: Entry) -> list[dict[str, Any]]:
    return [*_all_of(entry), {"is": "back", "tid": entry.tid}]


def _all_of(entry: Entry) -> list[dict[str, Any]]:
    return [line_of(entry), *([{"is": "ours", "tid": entry.tid, "values": entry.ours}] if entry.ours else [])]


def remove(path: Path) -> None:
    """With what a kill in the middle of a rewrite left of it. Raises UserError where the directory is not ours alone."""
    with own_directory.opened(path.parent) as directory:
        for file in (path, new_of(path)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file.name, dir_fd=directory)


def new_of(path: Path) -> Path:
    return path.with_name(path.name + NEW)


class File:
    """The open journal of one holder. Each line is written to the kernel at once: a kill -9 of the holder loses nothing.

    Raises UserError where it cannot be made.
    """

    def __init__(self, path: Path, contents: Contents):
        self.path = path
        self._lines = self._size = 0
        self._most_lines, self._most_bytes = MOST_LINES, LEAST_BYTES
        self._fd = -1
        self._torn = False
        """The file ends in half a line."""
        try:
            self._rewrite(contents)
        except OSError as error:
            raise cannot_write(path, error, SPACE) from None

    def add(self, contents: Contents, *lines: dict[str, Any]) -> None:
        """Writes lines, and takes them into `contents`. Raises UserError where they cannot be written: then there is none of them in either."""
        text = _text(lines)
        try:
            if self._torn:
                self._rewrite(contents)
            _write(self._fd, text)
        except OSError as error:
            self._cut_off()
            raise cannot_write(self.path, error, SPACE) from None
        self._size += len(text)
        self._lines += len(lines)
        for line in lines:
            take(contents, line)
        if self._lines > self._most_lines + 4 * len(contents.entries) or self._size > self._most_bytes:
            try:
                self._rewrite(contents)
            except (OSError, UserError):  # the long one is as good: again when it is twice as long
                self._most_lines, self._most_bytes = 2 * self._lines, 2 * self._size

    def _cut_off(self) -> None:
        """Removes the half of a line. If not even that can be, nothing may be appended to it: as the last one, it is ignored."""
        try:
            os.ftruncate(self._fd, self._size)
            self._torn = False
        except OSError:
            self._torn = True

    def _rewrite(self, contents: Contents) -> None:
        lines = lines_of(contents)
        text, new = _text(lines), new_of(self.path).name
        with own_directory.opened(self.path.parent) as directory:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(new, dir_fd=directory)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC
            fd = os.open(new, flags, 0o600, dir_fd=directory)
            try:
                _write(fd, text)
                os.rename(new, self.path.name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                os.close(fd)
                os.unlink(new, dir_fd=directory)
                raise
        self.close()
        self._fd, self._lines, self._size = fd, len(lines), len(text)
        self._most_lines, self._most_bytes = MOST_LINES, max(LEAST_BYTES, 2 * len(text))
        self._torn = False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _write(fd: int, text: bytes) -> None:
    """All of it. Raises OSError."""
    while text:
        text = text[os.write(fd, text) :]


def _text(lines: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()
