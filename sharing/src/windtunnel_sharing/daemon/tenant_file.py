"""A file that a tenant of another user may write: what it says is said by that user."""

import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from windtunnel.api.errors import as_argument
from windtunnel.api.files import others_may_replace, walk
from windtunnel.api.files import read_beginning as beginning
from windtunnel_sharing.daemon.keys import BadValue


@dataclass(frozen=True)
class TenantFile:
    """The beginning of one. `owner`: who may have written it, if that is another user than root and the daemon's."""

    text: str
    mode: int
    written_ns: int
    """When, by the clock of the day."""
    owner: int | None


def read(name: str, path: Path, owner: int | None, most_bytes: int) -> TenantFile:
    """The file of the tenant `name`, whose user is `owner` unless that is None: whoever may write it, or a directory or a link on the way to it,
    chooses what it says. Raises OSError for a file that is not there, is not a regular one, or has a lease. Raises BadValue for a link, which may
    lead to somebody else's file, and for a file of another user, of two, or of anybody."""
    passed: list[os.stat_result] = []
    with _walked(name, path, passed) as opened:
        text = beginning(opened, most_bytes)
    if passed[-1].st_mode & 0o022:
        raise BadValue(f"{name}: {path} may be written by others, and say anything", f"chmod go-w {as_argument(path)}")
    return TenantFile(text, passed[-1].st_mode, passed[-1].st_mtime_ns, _writer(name, path, passed, owner))


@contextmanager
def opened_socket(name: str, path: Path, owner: int) -> Iterator[int]:
    """A descriptor (O_PATH) of the socket of the tenant `name`, whose user is `owner`. Raises OSError where there is nothing, and BadValue as `read`:
    no link leads to another one's socket."""
    passed: list[os.stat_result] = []
    with _walked(name, path, passed) as opened:
        _writer(name, path, passed, owner)
        if passed[-1].st_uid != owner:
            raise _of_another(name, path, passed[-1].st_uid, owner)
        yield opened


@contextmanager
def _walked(name: str, path: Path, passed: list[os.stat_result]) -> Iterator[int]:
    """A descriptor (O_PATH), and in `passed` what was passed, as of `walk`. Raises BadValue for a link."""
    opened = walk(path, passed)
    try:
        if stat.S_ISLNK(passed[-1].st_mode):
            # What it leads to is not looked at: its owner may serve that file system.
            raise BadValue(f"{name}: {path} is a link", "name the file itself")
        yield opened
    finally:
        os.close(opened)


def _writer(name: str, path: Path, passed: list[os.stat_result], owner: int | None) -> int | None:
    """Who, if that is another user than root and the daemon's, may put something there. Raises BadValue if that may be another one than `owner`,
    unless that is None, or anybody."""
    if any(map(others_may_replace, passed[:-1])):
        words = f"{name}: {path} may be replaced by others, and say anything"
        raise BadValue(words, "a file in directories that only its owner and root may write")
    for writer in {found.st_uid for found in passed} - {0, os.geteuid()}:
        if owner not in (writer, None):
            raise _of_another(name, path, writer, owner)
        owner = writer
    return owner


def _of_another(name: str, path: Path, found: int, owner: int) -> BadValue:
    return BadValue(f"{name}: {path} is of user {user_name(found)}, not of {user_name(owner)}", "a file of theirs")


def user_name(uid: int | None) -> str:
    """The name of a user; the number of one without a name."""
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return str(uid)
