"""Text of /proc, split where the kernel splits it.

The kernel ends a line with a line feed, and the name of a thread or of a cgroup may hold nearly any other byte. str.splitlines, str.split
and files opened as text split at more of them (form feed, carriage return, file separator, NEL, U+2028): the name of a thread could pass
for a line or a field of the kernel. Source: proc_pid_status(5), proc_pid_mounts(5), cgroups(7); Linux, fs/seq_file.c (mangle_path).
"""

import errno
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

AT_ONCE = 1 << 14
MOST_BYTES = 16 << 20
"""Of a text. The kernel bounds arguments and an environment to 6 MiB; but a process may name any memory as its own (PR_SET_MM_MAP of prctl(2)),
and each of its mappings may have a path of many KiB."""
_ESCAPED = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """A line of /proc/PID/mounts."""

    path: Path
    kind: str
    options: tuple[str, ...]


def text(path: str | Path) -> str:
    """The text of a file. Bytes that are no UTF-8 are kept as by os.fsdecode, so that a path in it can be used. Raises OSError,
    also if it has more than MOST_BYTES.

    It uses a descriptor: a read by pathlib costs three times as much, and every change of a thread reads some files.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(fd, AT_ONCE)]
        length = len(parts[0])
        while parts[-1]:
            if length > MOST_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
            parts.append(os.read(fd, AT_ONCE))
            length += len(parts[-1])
        return os.fsdecode(b"".join(parts))
    finally:
        os.close(fd)


def lines(content: str) -> list[str]:
    """The lines of a file, without their ends."""
    return content.removesuffix("\n").split("\n") if content else []


def value(content: str, name: str) -> str | None:
    """The value after `NAME:` at the beginning of a line, without the blanks around it; None if there is no such line."""
    return next((line[len(name) + 1 :].strip(" \t") for line in lines(content) if line.startswith(f"{name}:")), None)


def mounts(path: str | Path) -> tuple[Mount, ...]:
    """All mounts of a mount namespace, in the order of the file. Raises OSError."""
    return _mounts(text(path))


@lru_cache(maxsize=4)
def _mounts(content: str) -> tuple[Mount, ...]:
    """The mounts, cached because parsing takes a millisecond, and each thread that is moved to a cgroup needs them."""
    rows = [line.split(" ") for line in lines(content)]
    return tuple(Mount(Path(_unescaped(row[1])), row[2], tuple(row[3].split(","))) for row in rows if len(row) > 3)


def _unescaped(field: str) -> str:
    """A field of mounts, in which blank, tab, line feed and backslash are octal numbers."""
    return os.fsdecode(_ESCAPED.sub(lambda octal: bytes([int(octal[1], 8) & 0xFF]), os.fsencode(field)))
