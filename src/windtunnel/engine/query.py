"""What the engine says without a run: its version, its handlers and wires, and the ladder of the host's caches."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from windtunnel.engine.ask import ask
from windtunnel.engine.find import NAME, quickstart
from windtunnel.engine.plan_values import Trait
from windtunnel.engine.signals import signal_name
from windtunnel.errors import UserError

TIMEOUT_S = 20
COSTS_TIMEOUT_S = 120
REBUILD = f"run {quickstart()}"
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
    """A handler's descriptor. `names_copies`: of its responses, for a copier; `checks`: it knows what responses must be."""

    name: str
    kind: Literal["message", "packet"]
    help: str
    names_copies: bool = False
    checks: bool = False
    options: list[HandlerOption]


Scope = Literal["wire", "endpoint"]


class Described(BaseModel):
    """A part of a wire's descriptor, which include/windtunnel/wire.h explains."""

    model_config = ConfigDict(frozen=True)


class WireOption(Described):
    """One option of a wire; `default`, `choices`, `timed`, `lossy`, `packets` and `example` are texts as a plan has them."""

    name: str
    scope: Scope
    type: Literal["bytes", "count", "bool", "choice", "words", "text", "file", "socket", "interface", "pci"]
    default: str | None
    required: bool
    choices: tuple[str, ...] | None
    least: int | None
    most: int | None
    timed: str | None
    lossy: str | None
    packets: str | None
    frame: bool
    role: bool
    example: str | None
    help: str


class WireNeed(Described):
    """What must be so on the host; `option` names the option that it is about."""

    kind: Literal["root", "hugepages", "interface", "no_interface", "no_xdp", "capture", "nic", "shared_socket"]
    option: str | None
    why: str | None


class WireMbufs(Described):
    """mbufs that the driver may hold for one queue: so many, and so many a descriptor or a frame of a capture."""

    fixed: int
    rx: int
    tx: int
    peer_rx: int
    frames: int


class Wire(Described):
    """A wire, as its descriptor in the engine has it."""

    name: str
    help: str
    driver: str
    peer: str
    copies: str
    traits: tuple[Trait, ...]
    most_queues: int
    most_mtu: int | None
    mtu_why: str | None
    options: tuple[WireOption, ...]
    needs: tuple[WireNeed, ...]
    mbufs: WireMbufs


class LadderHead(BaseModel):
    """How a ladder is measured."""

    type: Literal["ladder"]
    version: Literal[1]
    cpu: int
    tsc_hz: int


class LadderLine(BaseModel):
    """One size in one round."""

    type: Literal["rung"]
    bytes: int
    round: int
    ns: float


class LadderEnd(BaseModel):
    type: Literal["end"]
    huge_bytes: int | None


_LADDER = TypeAdapter(
    Annotated[LadderHead | LadderLine | LadderEnd, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)
_HANDLERS = TypeAdapter(list[Handler], config=ConfigDict(defer_build=True))
_WIRES = TypeAdapter(list[Wire], config=ConfigDict(defer_build=True))


def handlers(engine: Path, plugin: Path | None = None) -> list[Handler]:
    """The built-in handlers, or the one in a shared object. Raises UserError with the engine's own words."""
    asked = ["--handlers", *(["--plugin", str(plugin.absolute())] if plugin else [])]
    text = query(engine, asked)
    try:
        return _HANDLERS.validate_json(text)
    except ValidationError as error:
        raise UserError(
            f"{engine} --handlers: not a list of handlers: {error.errors()[0]['msg']}", remedy=REBUILD
        ) from error


def wires(engine: Path) -> list[Wire]:
    """The wires that are built in. Raises UserError with the engine's own words."""
    try:
        return read_wires(query(engine, ["--wires"]))
    except ValidationError as error:
        raise UserError(f"{engine} --wires: not a list of wires: {error.errors()[0]['msg']}", remedy=REBUILD) from error


def read_wires(text: str) -> list[Wire]:
    """What `--wires` prints. Raises ValidationError."""
    return _WIRES.validate_json(text)


def version(engine: Path) -> str:
    """The engine's line about itself, DPDK's version included. Raises UserError."""
    return query(engine, ["--version"]).strip()


def ladder(
    engine: Path, pages: str, most: int, rounds: int, heard: Callable[[LadderLine], None] | None = None
) -> tuple[LadderHead, list[LadderLine], int | None]:
    """How it was measured, the rungs in the order in which they were, and the bytes that lay on huge pages.

    It takes seconds a round: `heard` gets each rung as it comes. Raises UserError with the engine's own words.
    """
    arguments = ["--ladder", "--pages", pages, "--most", str(most), "--rounds", str(rounds)]
    try:
        process = subprocess.Popen(
            [engine, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    except OSError as error:
        raise UserError(f"the engine {engine} cannot be started: {error.strerror}", remedy=REBUILD) from error
    with process:  # its few words on stderr fit the pipe
        assert process.stdout is not None and process.stderr is not None
        try:
            lines = [_rung(text, engine, heard) for text in process.stdout]
        except BaseException:
            process.kill()
            raise
        stderr = process.stderr.read()
    _judge(engine, arguments, process.returncode, stderr)
    match lines:
        case [LadderHead() as head, *between, LadderEnd() as end]:
            rungs = [line for line in between if isinstance(line, LadderLine)]
            if rungs and len(rungs) == len(between):
                return head, rungs, end.huge_bytes
    raise UserError(f"{engine} --ladder: its output is not a ladder", remedy=REBUILD)


def _rung(text: str, engine: Path, heard: Callable[[LadderLine], None] | None) -> LadderHead | LadderLine | LadderEnd:
    try:
        line = _LADDER.validate_json(text)
    except ValidationError as error:
        raise UserError(f"{engine} --ladder: {error.errors()[0]['msg']}: {text[:80]!r}", remedy=REBUILD) from error
    if heard and isinstance(line, LadderLine):
        heard(line)
    return line


def query(
    engine: Path, arguments: list[str], timeout_s: int = TIMEOUT_S, environment: Mapping[str, str] | None = None
) -> str:
    try:
        ended = ask([str(engine), *arguments], timeout_s, environment)
    except OSError as error:
        raise UserError(f"the engine {engine} cannot be started: {error.strerror}", remedy=REBUILD) from error
    if ended is None:
        raise UserError(f"{engine} {arguments[0]}: no response within {timeout_s} s")
    _judge(engine, arguments, ended.code, ended.errors)
    return ended.output


def _judge(engine: Path, arguments: list[str], code: int, stderr: str) -> None:
    """Raises UserError if it did not end well."""
    if killed_by := signal_name(code):
        raise UserError(f"the engine died at {' '.join(arguments)}: {killed_by}", remedy=_blame(arguments))
    if code == REFUSED and f"{NAME}: " in stderr:
        raise _refusal(stderr)
    if code:
        reason = stderr.strip() or f"exit code {code}"
        raise UserError(f"the engine {engine} does not respond: {reason}", remedy=REBUILD)


def _refusal(stderr: str) -> UserError:
    """The engine's own words, which come after whatever its libraries print: a message, and a remedy if it knows one."""
    message, _, remedy = stderr.rpartition(f"{NAME}: ")[2].strip().partition("\nremedy: ")
    return UserError(message, remedy=remedy or None)


def _blame(arguments: list[str]) -> str | None:
    return "the crash is in the plug-in, which ran code when it was opened" if "--plugin" in arguments else None
