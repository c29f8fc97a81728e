"""Directories that only their owner writes: where journals and a daemon's state are kept, since what is read there is believed.

A name in a directory that others may write says nothing about whose file it is, and what is missing there may be anybody's a moment later.
So a directory is walked to from the root, owner and mode are asked of all that was passed, and its files are opened below the descriptor at
which the walk ended. A way that is own once, to its end, stays so.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from windtunnel.engine.walked import OTHERS, GoesOn, others_may_replace, walk
from windtunnel.errors import UserError, as_argument

MODE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def runtime_directory() -> Path:
    """The directory in which our engines' EAL has its own: that of eal_create_runtime_dir, but for /tmp, which everybody may write, and
    for the XDG_RUNTIME_DIR of another user, which `su` keeps. Raises UserError if others may put something else in the place of the daemon's."""
    if systemd := os.environ.get("RUNTIME_DIRECTORY"):
        if not may_become_own(Path(systemd)):
            raise UserError(f"{systemd}: {OTHERS}", remedy="unset RUNTIME_DIRECTORY")
        return Path(systemd)
    if os.getuid() == 0:
        return Path("/var/run")
    named = os.environ.get("XDG_RUNTIME_DIR")
    return Path(named) if named and is_own(Path(named)) else in_tmp()


def of_runtime() -> Path:
    """Windtunnel's own directory of what a boot may empty. Raises UserError if it is there and is not ours alone."""
    base = runtime_directory()
    own = base if base == in_tmp() else base / "windtunnel"
    if not is_missing(own):
        with opened(own):
            pass
    return own


def for_eal() -> dict[str, str]:
    """The environment of a process with EAL, once there is a directory of ours alone for it: EAL takes any that it finds. Raises
    UserError if there cannot be one."""
    base = runtime_directory()
    for directory in (base, base / "dpdk") if base == in_tmp() else (base / "dpdk",):
        make(directory)
    return os.environ | {"RUNTIME_DIRECTORY": str(base)}


def in_tmp() -> Path:
    """The directory of a user who has no other runtime directory."""
    return Path(f"/tmp/windtunnel-{os.getuid()}")


def for_temporary() -> Path:
    """Where temporary files and directories are made: TMPDIR, but for that of another user, which `su` keeps, and who could put another one in the
    place of what is made there. Python's gettempdir() makes a file there to find out."""
    named = Path(os.environ.get("TMPDIR") or "/tmp").absolute()
    return named if is_own(named) and os.access(named, os.W_OK | os.X_OK) else Path("/tmp")


def may_become_own(directory: Path) -> bool:
    """Whether all that is there of the way to it is own, as `are_own` has it. What is missing may be made by another user: only `make`, which looks
    again, can tell."""
    passed: list[os.stat_result] = []
    try:
        os.close(walk(directory, passed, follow=True, goes_on=are_own))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return False
    return are_own(passed)


def is_own(path: Path) -> bool:
    """Whether a file or directory is there, and nobody but root can put something else in its place."""
    return are_own(_way(path, are_own))


def file_is_as_own(path: Path, known: Path) -> bool:
    """Whether something is there, and nobody can put something else in its place who could not do so with a known file, which this user runs:
    the owners of what is on the way to the known one count as this user. If others could replace that, nothing is asked."""
    trusted = _way(known, lambda passed: True)
    owners = [status.st_uid for status in trusted]

    def goes_on(passed: list[os.stat_result]) -> bool:
        return are_own(passed, *owners)

    return any(map(others_may_replace, trusted)) or goes_on(_way(path, goes_on))


def are_own(passed: list[os.stat_result], *owners: int) -> bool:
    """Whether all that a walk has passed, links on the way too, is this user's, root's or of these owners, and others write to it at most as to
    /tmp, in which they cannot put something else in the place of what they do not own. False for nothing."""
    if not passed:
        return False
    root = passed[0].st_uid  # in a user namespace without root it looks like another user
    trusted = {root, os.geteuid(), *owners}
    return all(status.st_uid in trusted and not others_may_replace(status) for status in passed)


def _way(path: Path, goes_on: GoesOn) -> list[os.stat_result]:
    """The way to what is there, and of each link on that way. Nothing if the walk does not come there: it may be anybody's a moment later."""
    passed: list[os.stat_result] = []
    try:
        os.close(walk(path, passed, follow=True, goes_on=goes_on))
    except OSError:
        return []
    return passed


def make(path: Path) -> None:
    """Makes the directory, and those above it, for its owner alone, if they are missing. Raises UserError as `make_on_own_way`, and if it is not
    ours, or others may write it."""
    make_on_own_way(path)
    with opened(path):
        pass


def make_on_own_way(path: Path, mode: int = MODE) -> None:
    """Makes the directory, and those above it, if they are missing, each below the descriptor of an own one. Raises UserError if one cannot be made, or
    others may put something else in its place."""
    try:
        for missing in reversed(_missing(path)):
            with _own(missing.parent) as parent, contextlib.suppress(FileExistsError):
                os.mkdir(missing.name, mode, dir_fd=parent)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", remedy=_remedy(path)) from None


def is_missing(path: Path) -> bool:
    """Whether it is not there. False if others may put something else in its place: that is seen when it is opened."""
    try:
        return bool(_missing(path))
    except OSError:
        return False


def _missing(path: Path) -> list[Path]:
    """What is not there of a directory and those above it, from below. Raises OSError as `walk`."""
    missing = []
    for place in (path, *path.parents):
        try:
            os.close(walk(place, [], follow=True, goes_on=are_own))
            break
        except FileNotFoundError:
            missing.append(place)
    return missing


@contextlib.contextmanager
def _own(path: Path) -> Iterator[int]:
    """A descriptor (O_PATH). Raises OSError if nothing is there, UserError if others may put something else in its place."""
    passed: list[os.stat_result] = []
    place = walk(path, passed, follow=True, goes_on=are_own)
    try:
        if not are_own(passed):
            raise UserError(f"{path}: {OTHERS}", remedy=_remedy(path))
        yield place
    finally:
        os.close(place)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A descriptor of the directory. Raises UserError if it is not there, is a link, is another user's, or others may write it or put something
    else in its place."""
    passed: list[os.stat_result] = []
    try:
        place = walk(path, passed, goes_on=are_own)
        try:
            _check_directory(path, passed)
            descriptor = os.open(f"/proc/self/fd/{place}", _DIRECTORY)
        finally:
            os.close(place)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", remedy=_remedy(path)) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(path: Path, most_bytes: int) -> bytes:
    """A file of ours, in a directory of ours. Raises UserError if it is not, FileNotFoundError if there is none."""
    with opened(path.parent) as directory:
        try:
            descriptor = os.open(path.name, _FILE, dir_fd=directory)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UserError(f"{path}: {'a link' if error.errno == errno.ELOOP else error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{path}: not a file")
        _check(path, status)
        if status.st_size > most_bytes:
            raise UserError(f"{path}: larger than {most_bytes >> 20} MiB")
        return file.read(most_bytes)


def _check_directory(path: Path, passed: list[os.stat_result]) -> None:
    *way, status = passed
    if not stat.S_ISDIR(status.st_mode):
        raise UserError(f"{path}: not a directory, or a link to one", remedy=_remedy(path))
    if way and not are_own(way):
        raise UserError(f"{path}: {OTHERS}", remedy=_remedy(path))
    _check(path, status)


def _check(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise UserError(f"{path}: of user {status.st_uid}, and this is user {os.geteuid()}", remedy=_remedy(path))
    if status.st_mode & _OTHERS_WRITE:
        raise UserError(
            f"{path}: other users may write it", remedy=f"chmod go-w {as_argument(path)}, if all in it is yours"
        )


def _remedy(path: Path) -> str:
    return f"use a directory of your own instead of {path}: XDG_RUNTIME_DIR, or the daemon's `state`, names one"
