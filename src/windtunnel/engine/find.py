"""Finds the engine: from the environment, in this checkout, or installed."""

import os
import shutil
from pathlib import Path

from windtunnel.errors import UserError

NAME = "windtunnel-engine"
VARIABLE = "WINDTUNNEL_ENGINE"
CHECKOUT = Path(__file__).resolve().parents[3]


def find_engine() -> Path:
    """$WINDTUNNEL_ENGINE, then build/engine/ of the source checkout that this package lies in, then PATH.

    Raises UserError with the remedy when there is none, or when the variable names something that cannot be run.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).absolute()
        if not runnable(path):
            raise UserError(
                f"{VARIABLE}={named}: {'not an executable file' if path.exists() else 'no such file'}",
                remedy=f"set it to a {NAME}, or unset it",
            )
        return path
    built = CHECKOUT / "build" / "engine" / NAME
    if runnable(built):
        return built
    installed = shutil.which(NAME)
    if installed:
        return Path(installed).absolute()
    if is_checkout():
        raise UserError(f"the engine is not built: no {built}", remedy="run ./windtunnel quickstart")
    raise UserError(
        f"no {NAME} found on PATH",
        remedy=f"build it in a source checkout (./windtunnel quickstart) and set {VARIABLE} to the file, "
        "or install it with meson install",
    )


def is_checkout() -> bool:
    return (CHECKOUT / "meson.build").is_file() and (CHECKOUT / "engine").is_dir()


def runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
