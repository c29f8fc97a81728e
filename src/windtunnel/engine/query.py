"""What the engine says about itself, without a flight: its version and its handlers."""

import subprocess
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from windtunnel.engine.find import NAME
from windtunnel.engine.signals import signal_name
from windtunnel.errors import UserError

TIMEOUT_S = 20
REBUILD = "run ./windtunnel quickstart"
REFUSED = 2
"""The engine's exit code for what it refuses in words; any other is not its own."""


class HandlerOption(BaseModel):
    """One option of a handler; `default` and `choices` are texts as a scenario would write them."""

    name: str
    type: Literal["bytes", "count", "choice", "text", "file"]
    default: str | None
    choices: list[str] | None
    help: str


class Handler(BaseModel):
    name: str
    kind: Literal["message", "packet"]
    help: str
    options: list[HandlerOption]


_HANDLERS = TypeAdapter(list[Handler])


def handlers(engine: Path, plugin: Path | None = None) -> list[Handler]:
    """The built-in handlers, or the one in a shared object. Raises UserError with the engine's own words."""
    asked = ["--handlers", *(["--plugin", str(plugin.absolute())] if plugin else [])]
    text = _ask(engine, asked)
    try:
        return _HANDLERS.validate_json(text)
    except ValidationError as error:
        raise UserError(
            f"{engine} --handlers: not a list of handlers: {error.errors()[0]['msg']}", remedy=REBUILD
        ) from error


def version(engine: Path) -> str:
    """The engine's line about itself, DPDK's version included. Raises UserError."""
    return _ask(engine, ["--version"]).strip()


def _ask(engine: Path, arguments: list[str]) -> str:
    command = [engine, *arguments]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )
    except OSError as error:
        raise UserError(f"the engine {engine} cannot be started: {error.strerror}", remedy=REBUILD) from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{engine} {arguments[0]}: no answer within {TIMEOUT_S} s") from error
    if killed_by := signal_name(answer.returncode):
        raise UserError(f"the engine died at {' '.join(arguments)}: {killed_by}", remedy=_blame(arguments))
    if answer.returncode == REFUSED and f"{NAME}: " in answer.stderr:
        raise _refusal(answer.stderr)
    if answer.returncode:
        said = answer.stderr.strip() or f"exit code {answer.returncode}"
        raise UserError(f"the engine {engine} does not answer: {said}", remedy=REBUILD)
    return answer.stdout


def _refusal(said: str) -> UserError:
    """The engine's own words, which come after whatever its libraries print: a message, and a remedy where it knows one."""
    message, _, remedy = said.rpartition(f"{NAME}: ")[2].strip().partition("\nremedy: ")
    return UserError(message, remedy=remedy or None)


def _blame(arguments: list[str]) -> str | None:
    return "the plug-in's own code ran when it was opened: look there" if "--plugin" in arguments else None
