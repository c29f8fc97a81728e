"""Directories that others may move away while we work in them: made and opened once, and from then on reached by their descriptors."""

import contextlib
import os
import re
import shutil
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


@contextlib.contextmanager
def held(directory: Path, follow: bool = True) -> Iterator[Path]:
    """A path of the directory itself, whatever takes its name meanwhile. What is raised within has its name all the same. `follow`: a link
    to it, which the last name of the path may be. Raises UserError or OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        descriptor = os.open(directory, flags | (0 if follow else os.O_NOFOLLOW))
    except NotADirectoryError:
        what = "not a directory" if follow else "not a directory, or a link, which is not followed"
        raise UserError(f"{directory}: {what}") from None
    place = f"/proc/self/fd/{descriptor}"

    def named(text: str) -> str:
        return re.sub(rf"{place}(?!\d)", lambda _: str(directory), text)

    try:
        yield Path(place)
    except UserError as error:
        raise UserError(named(error.message), error.remedy) from error
    except OSError as error:
        if error.filename is not None:
            error.filename = named(str(error.filename))
        raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def making(directory: Path) -> Iterator[Path]:
    """A new directory, held, which is removed again if what is within fails. Raises UserError for one that exists or cannot be made."""
    make_directory(directory)
    with held(directory, follow=False) as place:
        if place.stat().st_uid != os.geteuid() or any(place.iterdir()):
            raise UserError(f"{directory}: another program has put something else there", "choose a new directory")
        try:
            yield place
        except BaseException:
            _remove(directory, place)
            raise


def _remove(directory: Path, place: Path) -> None:
    """Removes the directory. If something else has its name by now, only an empty directory is removed."""
    with contextlib.suppress(OSError):
        for path in place.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        directory.rmdir()
