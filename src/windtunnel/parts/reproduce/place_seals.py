"""Seals of a claim's directory: that this user began it, and what commands and verdict have left there since. What came there in another way
counts for nothing.

A file system gives the number of a removed inode again, and an archive restores every time of a file but that of the last change of its inode
(ctime). So a seal is of the number and the ctime of the directory's claim.toml: it holds after a crash, and if the directory is moved or has
another name. It holds no more for a copy, or after chmod, chown or a hard link of claim.toml: then the directory was not begun here.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.measure.study import seal
from windtunnel.runs.files import replace
from windtunnel.text_file import MOST_RECORD_BYTES, open_regular
from windtunnel.tree import walk_whole

TEXT = "claim.toml"
"""The claim as it was when its first command ran."""
PLACE_SEAL = seal.NAME


def is_ours(place: Path) -> bool:
    """Whether this user began the claim there. Else it is what somebody sent, or may have put there: its results count for nothing, and its
    links lead elsewhere."""
    return not place.is_symlink() and holds(place, PLACE_SEAL)


def write(place: Path, name: str, *what: str) -> None:
    """Seals these texts in a claim's directory, in a file of this name; does nothing if no key can be kept here. Raises UserError or OSError."""
    if sealed := seal.seal_of(_with_place(place, name, what)):
        replace(place / name, sealed, 0o600)


def holds(place: Path, name: str, *what: str) -> bool:
    """Whether this user has sealed these texts there, and the directory is the same one."""
    try:
        return seal.is_of(place, _with_place(place, name, what).encode(), name)
    except (UserError, OSError, UnicodeDecodeError):
        return False


def _with_place(place: Path, name: str, what: Sequence[str]) -> str:
    with os.fdopen(open_regular(place / TEXT, follow=False), "rb") as file:
        status, text = os.fstat(file.fileno()), file.read(MOST_RECORD_BYTES).decode()
    return json.dumps([name, status.st_ino, status.st_ctime_ns, text, *what])


def digest(place: Path, names: Sequence[str]) -> str:
    """Of what has these names there, and of all that is below: another one if a name, a kind or a content is another one. Raises UserError for
    too many names, or directories that are too deep."""
    entries = sorted(path for name in names for path in _below(place / name))
    contents = [(str(path.relative_to(place)), _content(path)) for path in entries]
    return hashlib.sha256(json.dumps(contents).encode()).hexdigest()


def _below(path: Path) -> Iterator[Path]:
    """What is there, and all below it. No link is followed."""
    if os.path.lexists(path):
        yield path
    if path.is_dir() and not path.is_symlink():
        for directory, directories, files in walk_whole(path):
            yield from (directory / name for name in (*directories, *files))


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    try:
        with os.fdopen(open_regular(path, follow=False), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"no file: {error.strerror}"
