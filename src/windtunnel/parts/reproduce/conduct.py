"""Runs the commands of claims, and decides. What has been done in the directory is not done again: Ctrl-C ends it, and the same call goes on."""

import os
import platform
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from windtunnel.engine.find import CHECKOUT
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.own_command import OWN_COMMAND
from windtunnel.engine.verdict import INTERRUPTED
from windtunnel.errors import UserError, cannot_write
from windtunnel.parts.reproduce import claim_record, decide
from windtunnel.parts.reproduce.claim import Claim, Command, folder
from windtunnel.parts.reproduce.claim_record import ClaimRecord, Claims, ClaimState
from windtunnel.parts.reproduce.needs import missing
from windtunnel.parts.reproduce.plot import draw
from windtunnel.parts.reproduce.queries import queries_of
from windtunnel.runs.directories import make_missing
from windtunnel.runs.files import replace
from windtunnel.version import __version__

LOG = "commands.log"
TEXT = "claim.toml"
"""The claim as it was when its first command ran."""
DONE = ".done"
"""Suffix of the empty file that says that a command has done its work."""
Verdicts = Mapping[str, tuple[ClaimRecord, Path]]
Announce = Callable[[Claim, str], None]


class _Interrupted(Exception):
    """The user has ended a command."""


def states(
    claims: Sequence[Claim], verdicts: Verdicts, failures: Mapping[str, str] | None = None, interrupted: bool = False
) -> Claims:
    """The claims with these verdicts. One of another text of a claim is not its verdict. `failures`: by id, why a claim's commands ended
    early."""
    listed = []
    for claim in sorted(claims, key=lambda claim: claim.id):
        record, place = verdicts.get(claim.id, (None, None))
        is_of_text = record is not None and record.text == claim.source.text
        listed.append(
            ClaimState(
                id=claim.id,
                document=claim.document,
                place=claim.place,
                says=claim.says,
                holds_if=claim.holds_if,
                commands=[shlex.join(_arguments(command, place or Path(_name(claim)))) for command in claim.command],
                takes_ns=claim.takes,
                lacking=_lacking(claim) or (failures or {}).get(claim.id),
                record=record if is_of_text else None,
                directory=str(place) if is_of_text else None,
            )
        )
    return Claims(made=datetime.now(UTC), windtunnel=__version__, claims=listed, interrupted=interrupted)


def reproduce(
    claims: Sequence[Claim],
    directory: Path,
    within_s: float | None = None,
    announce: Announce = lambda claim, command: None,
    clock: Callable[[], float] = time.monotonic,
) -> Claims:
    """Decides in `directory` the claims that this host can decide, the quick ones first. `within_s`: none is begun that takes longer than
    what is left of it. `announce` gets each claim and command before it runs. A command that fails leaves its claim undecided, and the next call repeats it."""
    with Interrupts() as interrupts:
        return _reproduce(claims, directory, within_s, announce, clock, interrupts)


def _reproduce(
    claims: Sequence[Claim],
    directory: Path,
    within_s: float | None,
    announce: Announce,
    clock: Callable[[], float],
    interrupts: Interrupts,
) -> Claims:
    began = clock()
    failures: dict[str, str] = {}
    verdicts: dict[str, tuple[ClaimRecord, Path]] = {}
    for claim in sorted(claims, key=lambda claim: claim.takes):
        if _lacking(claim):
            continue
        place = directory / _name(claim)
        record = claim_record.read(place)
        if record is None or record.text != claim.source.text:
            if within_s is not None and clock() - began + claim.takes / 1e9 > within_s:
                continue
            try:
                record = _decide(claim, place, announce, interrupts)
            except _Interrupted:
                return states(claims, verdicts, failures, interrupted=True)
            except UserError as error:
                failures[claim.id] = f"{error.message} ({error.remedy})" if error.remedy else error.message
                continue
        verdicts[claim.id] = record, place
    return states(claims, verdicts, failures)


def _lacking(claim: Claim) -> str | None:
    """Why this host, or this product, cannot decide the claim; None: it can."""
    if lacking := missing(claim.needs):
        return f"this needs {' and '.join(lacking)}"
    return claim.undecided


def _decide(claim: Claim, place: Path, announce: Announce, interrupts: Interrupts) -> ClaimRecord:
    try:
        make_missing(place)
    except OSError as error:
        raise cannot_write(place, error) from error
    text = place / TEXT
    if not text.exists():
        replace(text, claim.source.text)
    elif text.read_text() != claim.source.text:
        raise UserError(f"{place} is of another text of the claim", remedy="name another directory with --out")
    for command in claim.command:
        if not (place / f"{command.name}{DONE}").exists():
            arguments = _arguments(command, place)
            announce(claim, shlex.join(arguments))
            _run(command, arguments, place, interrupts)
            replace(place / f"{command.name}{DONE}", "")
    with queries_of(claim, place) as queries:
        findings, plot = decide.findings(claim, queries), draw(claim, queries)
    outcome, because = decide.verdict(claim, findings)
    record = ClaimRecord(
        id=claim.id,
        text=claim.source.text,
        windtunnel=__version__,
        decided=datetime.now(UTC),
        host=platform.node(),
        outcome=outcome,
        because=because,
        findings=findings,
        plot=plot,
    )
    replace(place / claim_record.NAME, record.model_dump_json(indent=1))
    return record


def _name(claim: Claim) -> str:
    """Of its directory."""
    return claim.id.replace("/", "-")


def _arguments(command: Command, place: Path) -> list[str]:
    places = {"out": place / command.name, "place": place, "claims": folder(), "checkout": CHECKOUT}
    return [argument.format_map(places) for argument in shlex.split(command.run)]


def _run(command: Command, arguments: list[str], place: Path, interrupts: Interrupts) -> None:
    """What it prints is in the claim's log, but for a standard output that the claim asks for. Raises _Interrupted if it was, and UserError for
    an exit code that the claim does not name."""
    out = place / command.name
    if out.exists() and not command.goes_on:
        shutil.rmtree(out)  # by an earlier call that was ended
    with (place / LOG).open("ab") as log, open(place / command.stdout if command.stdout else os.devnull, "wb") as file:
        log.write(f"$ windtunnel {shlex.join(arguments)}\n".encode())
        log.flush()
        code = _end_of([*OWN_COMMAND, *arguments], file if command.stdout else log, log, interrupts)
    if interrupts.count or code == INTERRUPTED:
        raise _Interrupted
    if code not in command.exits:
        message = f"the command {command.name} ended with exit code {code}"
        raise UserError(message, remedy=f"its messages are in {place / LOG}")


def _end_of(arguments: Sequence[str], stdout: BinaryIO, stderr: BinaryIO, interrupts: Interrupts) -> int:
    """The exit code of a command in a process group of its own: Ctrl-C reaches it from here alone, once each time, and it ends in good order."""
    with (
        subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, process_group=0) as process,
        open(os.pidfd_open(process.pid), "rb", buffering=0) as ended,
        selectors.DefaultSelector() as selector,
    ):
        selector.register(ended, selectors.EVENT_READ)
        selector.register(interrupts.fd, selectors.EVENT_READ)
        while process.poll() is None:
            if any(key.fd == interrupts.fd for key, _ in selector.select()):
                interrupts.drain()
                process.send_signal(signal.SIGINT)
        return process.returncode
