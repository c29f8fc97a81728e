"""The directory of scenarios: lists, reads and creates files below it. No link is followed, so no name leads out of it; nothing is overwritten."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from windtunnel.errors import UserError
from windtunnel.index.entry import KINDS
from windtunnel.runs.latest import RUNS
from windtunnel.tree import walk

MOST_LISTED = 500
MOST_DEPTH = 8
MOST_DIRECTORIES = 10_000
"""Walking as many takes a tenth of a second or two, at each load of the page."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ScenarioDirectory:
    """The files below one directory. Names are relative to it, with `/`."""

    def __init__(self, root: Path):
        self.root = root.resolve()

    def listed(self, suffix: str) -> Iterator[str]:
        """Names of regular files, at most MOST_LISTED, from the nearest MOST_DIRECTORIES. Hidden directories, the directory of
        runs, and files below a run or a study are left out."""
        count = 0
        for where, names, files in walk(self.root, MOST_DEPTH, MOST_DIRECTORIES):
            below_a_run = where != self.root and not KINDS.keys().isdisjoint(files)
            names[:] = [] if below_a_run else sorted(n for n in names if not n.startswith(".") and n != RUNS.name)
            for name in sorted(files):
                path = where / name
                if name.endswith(suffix) and not path.is_symlink() and path.is_file() and _is_text(name):
                    yield path.relative_to(self.root).as_posix()
                    count += 1
                    if count >= MOST_LISTED:
                        return

    def read(self, name: str, most_bytes: int) -> bytes:
        """The content of a file. Raises UserError if it is no file below the directory, or larger."""
        parts = self._parts(name)
        try:
            with self._directory(parts[:-1]) as directory:
                descriptor = os.open(parts[-1], _READ, dir_fd=directory)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise UserError(f"{name}: not a file", remedy="a file of the list")
                content = file.read(most_bytes + 1)
        except OSError as error:
            raise UserError(f"{name}: {_why(error)}", remedy="a file of the list") from None
        if len(content) > most_bytes:
            raise UserError(f"{name}: larger than {most_bytes >> 10} KiB", remedy="a scenario file")
        return content

    def write_new(self, name: str, content: bytes, along: Mapping[str, bytes] | None = None) -> Path:
        """Creates a file, and beside it the files that it needs, which may exist with the same content. Raises UserError."""
        *folders, last = self._parts(name)
        try:
            with self._directory(folders) as directory:
                missing = [
                    companion
                    for companion in along or {}
                    if not _is_there(directory, companion, (along or {})[companion])
                ]
                _make(directory, last, content)
                for companion in missing:
                    _make(directory, companion, (along or {})[companion])
        except FileExistsError as error:
            raise UserError(
                f"{error.filename}: exists already", remedy="another name: nothing is overwritten"
            ) from None
        except OSError as error:
            raise UserError(f"{name}: {_why(error)}", remedy="a new name in a directory that is there") from None
        return self.root.joinpath(*folders, last)

    def _parts(self, name: str) -> tuple[str, ...]:
        path = PurePosixPath(name)
        if not _is_text(name) or not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
            raise UserError(f"{name!r}: not a name below {self.root}", remedy='a name as in "mine.toml"')
        return path.parts

    @contextlib.contextmanager
    def _directory(self, folders: list[str] | tuple[str, ...]) -> Iterator[int]:
        """A descriptor of a directory, opened step by step: a link on the way is refused."""
        descriptor = os.open(self.root, _DIRECTORY)
        try:
            for folder in folders:
                inner = os.open(folder, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


def _is_there(directory: int, name: str, content: bytes) -> bool:
    """Whether the file exists with this content. Raises FileExistsError if it exists with another one."""
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except FileNotFoundError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        if file.read(len(content) + 1) != content:
            raise FileExistsError(0, "", name)
    return True


def _make(directory: int, name: str, content: bytes) -> None:
    with os.fdopen(os.open(name, _NEW, 0o666, dir_fd=directory), "wb") as file:
        file.write(content)


def _why(error: OSError) -> str:
    return "a link" if isinstance(error.strerror, str) and "symbolic" in error.strerror else str(error.strerror).lower()


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
