"""Journals whose holder has ended, and a call that is refused."""

import errno
import os
from itertools import islice
from pathlib import Path

from windtunnel_sharing import journal, left_behind, threads
from windtunnel_sharing.entries import Entries
from windtunnel_sharing.threads import Process


def recorded(path, *entries, helpers=(), settings=()):
    """A journal whose holder has ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = journal.Contents(holder=Process(1, 1), helpers=list(helpers), settings=dict(settings))
    contents.entries = Entries(entries)
    journal.File(path, contents).close()
    return path


def left_in(directory: Path) -> list[Path]:
    """Files in it and below, but for those whose locks keep two from restoring at once."""
    return [path for path in directory.rglob("*") if path.is_file() and path.name != left_behind.LOCK]


def entry_of(pid: int, before: dict, ours: dict, earlier: int = 0) -> journal.Entry:
    """Of a living process; with `earlier` (clock ticks) of one that had its number before."""
    found = threads.stat(pid)
    started = found.started - earlier
    return journal.Entry(pid, found.pid, started, started, before, ours=ours)


def refuses(number: int):
    """A call that the kernel refuses."""

    def call(*arguments):
        raise OSError(number, os.strerror(number))

    return call


LOOKS = [
    ProcessLookupError(errno.ESRCH, "it has ended"),
    PermissionError(errno.EACCES, "hidden"),
    FileNotFoundError(errno.ENOENT, "its cgroup is gone"),
    OSError(errno.ENODEV, "its cgroup is being removed"),
    ValueError("a strange line"),
]
"""What a look at /proc may raise of one thread."""


def raises_for(which, error, call):
    """The call, but of one thread it raises."""

    def called(tid, *arguments):
        if tid == which:
            raise error
        return call(tid, *arguments)

    return called


class Steps:
    """A budget of so many at once, however long they take."""

    def __init__(self, most):
        self.most = most

    def some(self, many, most):
        return islice(many, min(self.most, most))
