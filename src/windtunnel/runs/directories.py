"""Directories that others may move away while we work in them: made and opened once, and from then on reached by their descriptors."""

import contextlib
import os
import re
import shutil
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path

from windtunnel.errors import UserError, cannot_write, check_name


def make_directory(directory: Path) -> None:
    """Raises UserError for a directory that exists or cannot be made."""
    check_name(directory)
    try:
        directory.mkdir(parents=True)
    except FileExistsError as error:
        raise UserError(f"{directory}: exists already", remedy="choose a new directory with --out") from error
    except OSError as error:
        raise cannot_write(directory, error) from error
    if directory.parent.stat().st_uid not in (os.geteuid(), 0):
        _remove_access_lists(directory)


def _remove_access_lists(directory: Path) -> None:
    """Whoever owns the directory above may have given themselves a right to write in all that is made in it (acl(5))."""
    with held(directory, follow=False) as place:
        for name in ("system.posix_acl_default", "system.posix_acl_access"):
            with contextlib.suppress(OSError):  # there is none
                os.removexattr(place, name)
        place.chmod(
            stat.S_IMODE(place.stat().st_mode) & ~0o022
        )  # the mask of the list stays as the rights of the group


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


def make_held(directory: Path) -> Held:
    """Makes a directory and opens it. Raises UserError for one that exists or cannot be made."""
    make_directory(directory)
    made = Held(directory, follow=False)
    if made.place.stat().st_uid != os.geteuid() or any(made.place.iterdir()):
        raise UserError(f"{directory}: another program has put something else there", "choose a new directory")
    return made


@contextlib.contextmanager
def making(directory: Path) -> Iterator[Path]:
    """A new directory, held, which is removed again if what is within fails. Raises UserError for one that exists or cannot be made."""
    made = make_held(directory)
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
