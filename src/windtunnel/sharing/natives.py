"""Where the native programs of sharing are: beside the engine that is used, or on PATH."""

import shutil
from pathlib import Path

from windtunnel.engine.find import find_engine, runnable
from windtunnel.errors import UserError

POLL_SHIM = "libwindtunnel-poll.so"


def find_native(name: str) -> Path:
    """The program `windtunnel-NAME`. Raises UserError where it is not built."""
    program = f"windtunnel-{name}"
    built = _beside_engine() / program
    if runnable(built):
        return built
    installed = shutil.which(program)
    if installed:
        return Path(installed).absolute()
    raise UserError(f"no {program} beside the engine, nor on PATH: no {built}", remedy="run ./windtunnel quickstart")


def find_poll_shim() -> Path:
    """The library that makes blocking programs poll. Raises UserError where it is not built."""
    engine = find_engine()
    for built in (_beside_engine() / POLL_SHIM, engine.parent.parent / "lib" / POLL_SHIM):
        if built.is_file():
            return built
    raise UserError(f"no {POLL_SHIM} beside the engine {engine}", remedy="run ./windtunnel quickstart")


def _beside_engine() -> Path:
    return find_engine().parent / "sharing"
