"""Whose the code is that the daemon runs, and what it starts: the guardian and the sweepers from the same packages, and a slicer.

As root it runs code that only root may change. A checkout or a virtual environment of a user is that user's to change, and whoever changes it
would be root at the next start.
"""

import io
import os
import re
import shutil
import site
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import windtunnel
import windtunnel_sharing
from windtunnel.api.errors import UserError
from windtunnel.api.files import beginning
from windtunnel.api.host import proc
from windtunnel.api.runs import find_engine, first_place
from windtunnel_sharing.native import SLICER, beside, find_native

ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MODULES = {".py", ".pyc", ".so", ".pth"}
SYSTEM_PATH = "/usr/bin:/bin"
"""Where the system's own programs are, whatever PATH says."""
MOST_BYTES = 1 << 20
"""Of a .pth file."""


def check() -> None:
    """Raises UserError if this is root, and another user may change what it runs."""
    if os.geteuid() != ROOT:
        return
    if why := open_to_others(*places()):
        raise UserError(
            f"{why}: a user who can write there could run code as root",
            remedy='install Windtunnel in directories that only root can write to (page "Share cores among tenants"), or give --from-anywhere if '
            "you trust these users",
        )


def places() -> Iterator[Path]:
    """What is run: the interpreter with the libraries that it has loaded, whatever it imports from, both packages file by file, the engine and
    the slicer with the libraries that they load, and the directories in which programs are looked for, and libraries first."""
    yield from (Path(entry).absolute() for entry in os.environ.get("PATH", SYSTEM_PATH).split(os.pathsep))
    if named := os.environ.get("LD_LIBRARY_PATH"):
        yield from (Path(entry).absolute() for entry in re.split("[:;]", named))
    for variable in ("LD_PRELOAD", "LD_AUDIT"):  # without a slash they are looked for where libraries are
        entries_of_loader = re.split("[: ]", os.environ.get(variable, ""))
        yield from (Path(entry).absolute() for entry in entries_of_loader if "/" in entry)
    for variable in ("OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "GCONV_PATH"):  # what they name is loaded
        yield from (Path(entry).absolute() for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)))
    yield from loaded()
    entries = [Path(entry).absolute() for entry in sys.path]
    if site.ENABLE_USER_SITE:  # below HOME: whose it is may make it, with a usercustomize.py
        entries.append(Path(site.getusersitepackages()))
    packages = [Path(package.__path__[0]) for package in (windtunnel, windtunnel_sharing)]
    below = tuple(f"{entry}/" for entry in entries)
    elsewhere = {place for place in imported_from_elsewhere() if not f"{place}/".startswith(below)}
    imported = [*packages, *entries, *elsewhere]
    yield from imported
    yield from map(Path, (sys.executable, sys.prefix, sys.base_prefix))
    yield Path(sys.prefix, "pyvenv.cfg")
    if sys.pycache_prefix:
        yield Path(sys.pycache_prefix)
    packages_by_link: list[Path] = []
    for entry in entries:
        for path in _listed(entry):
            if path.suffix in _MODULES or path.is_dir():
                yield path
            if path.is_symlink() and path.is_dir():
                packages_by_link.append(path)
            if path.suffix == ".pth":
                yield from (entry / line for line in _lines(path) if not line.startswith(("#", "import ", "import\t")))
    yield from _questionable([*imported, *packages_by_link])
    engines = [first_place()]
    with suppress(UserError):  # it is not installed, which whoever needs it says
        engines.append(find_engine())
    programs = [*engines, *(path for engine in engines for path in beside(engine, SLICER))]
    with suppress(UserError):
        programs.append(find_native(SLICER))
    for program in dict.fromkeys(programs):  # those that are not there, too: somebody may make them
        yield program
        yield from libraries(program)


def libraries(program: Path) -> list[Path]:
    """The shared libraries that the loader finds for a program, in this environment. None of one that another user may change: whoever asks the
    loader runs what the program names as its loader. ldd(1), the system's own, takes no script for a program."""
    if not program.exists() or open_to_others(program):
        return []
    ldd = shutil.which("ldd", path=SYSTEM_PATH)
    if ldd is None:
        raise UserError("ldd: No such file or directory", remedy="install the package libc-bin, or glibc-common")
    set_ = {name: value for name, value in os.environ.items() if name in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    environment = {"PATH": SYSTEM_PATH, "LC_ALL": "C"} | set_
    listing = subprocess.run([ldd, program], capture_output=True, check=False, env=environment)
    return [
        Path(os.fsdecode(found)) for found in re.findall(rb"^\t(?:.* => )?(/.*) \(0x", listing.stdout, re.MULTILINE)
    ]


def loaded() -> set[Path]:
    """The files that this process has mapped to run them, as /proc/self/maps has it: libpython, say, which any directory may hold."""
    fields = (line.split(maxsplit=5) for line in proc.lines(proc.text(Path("/proc/self/maps"))))
    return {Path(each[5]) for each in fields if len(each) == 6 and "x" in each[1] and each[5].startswith("/")}


def imported_from_elsewhere() -> Iterator[Path]:
    """What is imported from other places than sys.path: modules that are there already, and packages that a finder of an editable install knows
    (setuptools, `__editable___NAME_finder.py`)."""
    for module in list(sys.modules.values()):
        for place in (getattr(module, "__file__", None), *(getattr(module, "__path__", None) or ())):
            if isinstance(place, str):
                yield Path(place).absolute()
    for finder in sys.meta_path:
        its = vars(sys.modules.get(getattr(finder, "__module__", "") or type(finder).__module__, sys))
        for name in ("MAPPING", "NAMESPACES"):
            mapping = its.get(name)
            for place in mapping.values() if isinstance(mapping, dict) else ():
                yield from (Path(each).absolute() for each in ([place] if isinstance(place, str) else place))


def _listed(directory: Path) -> list[Path]:
    with suppress(OSError):  # a zip archive, or nothing that this process may import
        return list(directory.iterdir())
    return []


def _questionable(directories: Iterable[Path]) -> Iterator[Path]:
    """What is to be looked at of all that these hold at any depth: links, and what is not root's alone. Raises UserError if that is not
    known. find(1), the system's own, looks at a hundred thousand files in the time that Python takes for ten thousand."""
    not_roots_alone = [
        "(",
        "!",
        "-uid",
        str(ROOT),
        "-o",
        "-perm",
        "/022",
        ")",
        "-print0",
    ]  # a link has every permission
    find = shutil.which("find", path=SYSTEM_PATH) or "/usr/bin/find"
    try:
        listing = subprocess.run(
            [find, *_outermost(filter(Path.exists, directories)), "-ignore_readdir_race", *not_roots_alone],
            capture_output=True,
            check=False,
            env={"PATH": SYSTEM_PATH, "LC_ALL": "C"},
        )
    except OSError as error:
        raise UserError(f"find: {error.strerror}", remedy="install the package findutils") from None
    if listing.returncode != 0:
        raise UserError(f"find: {os.fsdecode(listing.stderr).strip()}", remedy="see why root cannot read that")
    return map(Path, map(os.fsdecode, listing.stdout.split(b"\0")[:-1]))


def _outermost(directories: Iterable[Path]) -> list[Path]:
    """Where links lead; without those that lie in another one, in which find(1) comes to them anyway."""
    resolved = {path.resolve() for path in directories}
    return [path for path in resolved if resolved.isdisjoint(path.parents)]


def _lines(file: Path) -> list[str]:
    with suppress(OSError):
        return [line.rstrip("\n") for line in io.StringIO(beginning(file, MOST_BYTES)[0], newline=None)]  # as site does
    return []


def open_to_others(*paths: Path) -> str | None:
    """The first on the way to any of these that another user than root may change, with whose it is and its mode: itself, what a link leads
    to, and each directory above. What is not there may be made by who may write where it would be. None: there is none."""
    seen: set[tuple[Path, bool]] = set()
    for one, shut in (each for path in paths for each in _way(path, True, seen)):
        try:
            found = one.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        spared = stat.S_ISLNK(found.st_mode) or (found.st_mode & stat.S_ISVTX and not shut)
        if found.st_uid != ROOT or (found.st_mode & _OTHERS_WRITE and not spared):
            return f"{one} is of user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"
    return None


def _way(path: Path, shut: bool, seen: set[tuple[Path, bool]]) -> Iterator[tuple[Path, bool]]:
    """`shut`: others may not even add something there, as they may in a directory like /tmp, which keeps what root has in it."""
    if (path, shut) in seen:
        return
    seen.add((path, shut))
    if path != path.parent:
        yield from _way(path.parent, not os.path.lexists(path), seen)
    yield path, shut
    if path.is_symlink():
        yield from _way(path.parent / path.readlink(), shut, seen)
