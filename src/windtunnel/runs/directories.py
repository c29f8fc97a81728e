"""Directories that others may move away while we work in them: made and opened once, and from then on reached by their descriptors."""

import contextlib
import errno
import os
import re
import shutil
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path

from windtunnel.errors import UserError, cannot_write, check_name


def make_directory(directory: Path, mode: int = 0o777) -> None:
    """Makes a directory in which nobody else may write, and those above it that are missing, without an access list. `mode`: less the umask.
    Raises UserError for one that exists or cannot be made."""
    check_name(directory)
    try:
        make_missing(directory.parent)
        _make(directory, mode & ~0o022)
    except FileExistsError as error:
        raise UserError(f"{directory}: exists already", remedy="choose a new directory with --out") from error
    except OSError as error:
        raise cannot_write(directory, error) from error


def make_missing(directory: Path) -> None:
    """Makes a directory if it is missing, and those above it, without an access list. Raises OSError, or UserError as `Held`."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process has made it meanwhile
            _make(path, 0o777)


def _make(directory: Path, mode: int) -> None:
    """By the access list that a new directory inherits (acl(5)), the owner of a directory above could give themselves a right to write in all
    that is made in it. We may have made the directory above in an earlier run: whose it is says nothing."""
    directory.mkdir(mode)
    with held(directory, follow=False) as place:
        lists = [name for name in _attributes(place) if name.startswith("system.posix_acl_")]
        for name in lists:
            os.removexattr(place, name)
        if lists:  # their mask stays as the rights of the group
            place.chmod(stat.S_IMODE(place.stat().st_mode) & ~0o022)


def _attributes(place: Path) -> list[str]:
    """Names of the extended attributes; none on a file system that keeps none."""
    try:
        return os.listxattr(place)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return []


class Held:
    """An open directory: `place` is a path of itself, whatever takes its name meanwhile."""

    def __init__(self, directory: Path, follow: bool = True):
        """`follow`: a link to it, which the last name of the path may be. Raises UserError or OSError."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        try:
            descriptor = os.open(directory, flags | (0 if follow else os.O_NOFOLLOW))
        except NotADirectoryError:
            what = "not a directory" if follow else "not a directory, or a link, which is not followed"
            raise UserError(f"{directory}: {what}") from None
        self.place = Path(f"/proc/self/fd/{descriptor}")
        self._directory = directory
        self.close = weakref.finalize(self, os.close, descriptor)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """What is raised within has the directory's own name."""
        try:
            yield
        except UserError as error:
            raise UserError(self._name_in(error.message), error.remedy) from error
        except OSError as error:
            if error.filename is not None:
                error.filename = self._name_in(str(error.filename))
            raise

    def _name_in(self, text: str) -> str:
        return re.sub(rf"{self.place}(?!\d)", lambda _: str(self._directory), text)


@contextlib.contextmanager
def held(directory: Path, follow: bool = True) -> Iterator[Path]:
    """The `place` of a `Held` directory. What is raised within has the directory's own name. Raises as `Held`."""
    opened = Held(directory, follow)
    try:
        with opened.named():
            yield opened.place
    finally:
        opened.close()


def make_held(directory: Path, mode: int = 0o777) -> Held:
    """Makes a directory, as `make_directory`, and opens it. Raises UserError for one that exists or cannot be made."""
    make_directory(directory, mode)
    made = Held(directory, follow=False)
    if made.place.stat().st_uid != os.geteuid() or any(made.place.iterdir()):
        raise UserError(f"{directory}: another program has put something else there", "choose a new directory")
    return made


@contextlib.contextmanager
def making(directory: Path, mode: int = 0o777) -> Iterator[Path]:
    """A new directory, as `make_directory` makes it, held, which is removed again if what is within fails. Raises UserError for one that exists
    or cannot be made."""
    made = make_held(directory, mode)
    try:
        with made.named():
            yield made.place
    except BaseException:
        _remove(directory, made.place)
        raise
    finally:
        made.close()


def _remove(directory: Path, place: Path) -> None:
    """Removes the directory. If something else has its name by now, only an empty directory is removed."""
    with contextlib.suppress(OSError):
        for path in place.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        directory.rmdir()
