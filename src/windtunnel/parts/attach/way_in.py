"""How the probe comes into a process: injected into a running one, or loaded by one that is started here."""

import os
import subprocess
from pathlib import Path

from windtunnel.engine.ask import ask
from windtunnel.engine.find import find_native
from windtunnel.engine.preload import preloading
from windtunnel.errors import UserError
from windtunnel.parts.attach.page import NAME, descriptor_of
from windtunnel.parts.attach.processes import Application

FOLDER = "attach"
"""Of the checkout, and of its build."""
INJECTOR = "windtunnel-inject"
INJECTED_S = 10.0
"""Longest time for an injection: it takes some ms."""


def library() -> Path:
    """The probe. Raises UserError if it was not built."""
    return find_native(FOLDER, f"lib{NAME}.so")


def inject(application: Application) -> None:
    """Loads the probe into a running application; one whose probe runs already stays as it is. The child of a
    fork has the library and no probe that runs: the injector starts it. Raises UserError with the injector's own words."""
    if descriptor_of(application.pid) is not None:
        return
    if application.obstacle:
        raise UserError(
            f"{application.name}: {application.obstacle[0].lower()}{application.obstacle[1:]}",
            remedy=f"start it with the probe: {how_to_load()}",
        )
    command = [str(find_native(FOLDER, INJECTOR)), str(application.pid), str(library())]
    ended = ask(command, INJECTED_S)
    if ended is None:
        raise UserError(
            f"{application.name}: the probe was not loaded within {INJECTED_S:.0f} s",
            remedy="see whether the process is stopped, or its user's file system does not respond",
        )
    if ended.code:
        first, *rest = (ended.errors.strip() or f"{INJECTOR} ended with {ended.code}").split("\n")
        raise UserError(
            first.removeprefix("error: "), remedy="\n".join(rest).strip() or f"start it with the probe: {how_to_load()}"
        )


def how_to_load() -> str:
    """The ways to start an application with the probe in it."""
    return f"windtunnel attach -- COMMAND, or EAL's option -d {library()}"


def start(command: list[str]) -> "subprocess.Popen[bytes]":
    """Starts a command with the probe in it. Its output is on stderr: stdout has the result. Raises UserError if it cannot be started."""
    environment = os.environ | preloading(library())
    try:
        return subprocess.Popen(command, env=environment, stdout=2)
    except OSError as error:
        raise UserError(
            f"{command[0]}: cannot be started: {error.strerror}", remedy="give the path of a program"
        ) from None
