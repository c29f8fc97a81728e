"""Finds the engine: from the environment, in this checkout, or installed."""

import contextlib
import json
import os
import re
import shutil
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from windtunnel.engine.ask import ask
from windtunnel.engine.own_directory import file_is_as_own
from windtunnel.errors import UserError, as_argument
from windtunnel.version import __version__

NAME = "windtunnel-engine"
NAME_OF_PACKAGE = "windtunnel"
VARIABLE = "WINDTUNNEL_ENGINE"
CHECKOUT = Path(__file__).resolve().parents[3]
TIMEOUT_S = 20
_VERSION = re.compile(rf"{NAME} ([^\s,]+)")


def find_engine() -> Path:
    """$WINDTUNNEL_ENGINE, then build/engine/ of the source checkout that this package lies in, then PATH.

    Raises UserError with the remedy when there is none, when the variable names something that cannot be run, or when the installed
    engine is of another version than this package.
    """
    named, place = os.environ.get(VARIABLE), first_place()
    if runnable(place):
        return place
    if named:
        raise UserError(
            f"{VARIABLE}={named}: {'not an executable file' if place.exists() else 'no such file'}",
            remedy=f"set it to a {NAME}, or unset it",
        )
    installed = shutil.which(NAME)
    if installed:
        return _of_this_version(Path(installed).absolute())
    if is_checkout():
        raise UserError(f"the engine is not built: no {place}", remedy=f"run {quickstart()}")
    raise UserError(
        f"no {NAME} found on PATH",
        remedy=f"apt install ./windtunnel-engine_{__version__}_*.deb, or build it in a source checkout (./windtunnel quickstart) and set "
        f"{VARIABLE} to the file",
    )


def first_place() -> Path:
    """Where the engine is looked for before PATH, there or not."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else CHECKOUT / "build" / "engine" / NAME


@cache
def _of_this_version(engine: Path) -> Path:
    """An installed engine: package and engine come each by itself, and one may be older. One that says nothing is returned too: whoever
    asks it for more says why."""
    ended = None
    with contextlib.suppress(OSError):
        ended = ask([str(engine), "--version"], TIMEOUT_S)
    version = _VERSION.match(ended.output) if ended else None
    if version and version[1] != __version__:
        raise UserError(
            f"{engine} is version {version[1]}, and this windtunnel is {__version__}",
            remedy=f"install the same version of both, or set {VARIABLE} to an engine of {__version__}",
        )
    return engine


def find_native(folder: str, name: str) -> Path:
    """A native file that is no engine, which lies where the engine was built, in this folder, or installed. Raises UserError if it is not
    there, and as `check_beside`."""
    engine = find_engine()
    base = engine.parent.parent
    places = [base / folder / name, *(base / lib / "windtunnel" / name for lib in ("lib", "libexec"))]
    for place in places:
        if place.is_file():
            check_beside(place, engine)
            return place.resolve()
    raise UserError(f"{name} is not where the engine is: no {places[0]}", remedy=f"run {quickstart()}")


def check_beside(file: Path, engine: Path) -> None:
    """Raises UserError for a file near the engine that may be of somebody else: beside a directory of ours in /tmp everybody makes their own."""
    if not file_is_as_own(file, engine):
        raise UserError(
            f"{file}: other users than the engine's may have put it there",
            remedy=f"leave the engine where it was built or installed: {engine}",
        )


def quickstart() -> str:
    """The command that builds the engine, of this checkout if there is one, from any directory."""
    return f"{as_argument(CHECKOUT / 'windtunnel')} quickstart" if is_checkout() else "./windtunnel quickstart"


def to_install(*extras: str, package: str = NAME_OF_PACKAGE) -> str:
    """The command that installs what these extras of a package need, into this Python and from where it was installed: from the checkout,
    or from the wheel's file. No registry has this package, so its bare name could be anyone's."""
    ours = package == NAME_OF_PACKAGE
    place = (str(CHECKOUT) if is_checkout() else _wheel()) if ours else package
    what = f"{place}[{','.join(extras)}]" if extras else place
    return f"{as_argument(sys.executable)} -m pip install {'--editable ' if ours and is_checkout() else ''}{as_argument(what)}"


def _wheel() -> str:
    """The wheel's file that this package was installed from, as pip noted it (PEP 610); its name, if pip did not or the file is gone."""
    named = f"./{NAME_OF_PACKAGE}-{__version__}-py3-none-any.whl"  # pip takes a name without a slash for a package
    with contextlib.suppress(PackageNotFoundError, ValueError, KeyError, TypeError):
        origin = json.loads(distribution(NAME_OF_PACKAGE).read_text("direct_url.json") or "")
        file = Path(unquote(urlsplit(origin["url"]).path))
        if file.suffix == ".whl" and file.is_file():
            return str(file)
    return named


def is_checkout() -> bool:
    return (CHECKOUT / "meson.build").is_file() and (CHECKOUT / "engine").is_dir()


def runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
