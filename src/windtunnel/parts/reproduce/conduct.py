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
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from windtunnel.engine.find import CHECKOUT
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.own_command import OWN_COMMAND
from windtunnel.engine.parent_death import ending_with_us
from windtunnel.engine.verdict import INTERRUPTED
from windtunnel.errors import UserError, cannot_write
from windtunnel.parts.reproduce import claim_record, decide
from windtunnel.parts.reproduce.claim import MAX_FILE_BYTES, PLACE, Claim, Command, folder
from windtunnel.parts.reproduce.claim_record import TEXT, ClaimRecord, Claims, ClaimState
from windtunnel.parts.reproduce.needs import missing
from windtunnel.parts.reproduce.plot import draw
from windtunnel.parts.reproduce.queries import Ended, queries_of
from windtunnel.runs.directories import making
from windtunnel.runs.files import replace, replacing
from windtunnel.text_file import read_regular
from windtunnel.version import __version__

LOG = "commands.log"
DONE = ".done"
"""Suffix of the empty file that says that a command has done its work."""
Verdicts = Mapping[str, tuple[ClaimRecord, Path]]
Announce = Callable[[Claim, str], None]


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
            except Ended:
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


def _begin(claim: Claim, place: Path) -> None:
    """Makes the claim's directory, or goes on in it. Raises UserError if this user did not begin it, or with another text."""
    another = "name another directory with --out"
    if not os.path.lexists(place):
        with making(place) as made:
            replace(made / TEXT, claim.source.text)
            claim_record.seal_place(made, claim.source.text)
        return
    if not claim_record.is_ours(place):
        raise UserError(f"{place} was not begun by you on this host", remedy=another)
    if read_regular(place / TEXT, MAX_FILE_BYTES).decode() != claim.source.text:
        raise UserError(f"{place} is of another text of the claim", remedy=another)


def _decide(claim: Claim, place: Path, announce: Announce, interrupts: Interrupts) -> ClaimRecord:
    _begin(claim, place)
    for command in claim.command:
        if not (place / f"{command.name}{DONE}").exists():
            arguments = _arguments(command, place)
            announce(claim, shlex.join(arguments))
            _run(command, arguments, place, interrupts)
            replace(place / f"{command.name}{DONE}", "")
    with queries_of(claim, place, interrupts) as queries:
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
    claim_record.write(place, record)
    return record


def _name(claim: Claim) -> str:
    """Of its directory."""
    return claim.id.replace("/", "-")


def _arguments(command: Command, place: Path) -> list[str]:
    places = {"out": place / command.name, "place": place, "claims": folder(), "checkout": CHECKOUT}
    return [PLACE.sub(lambda name: str(places[name[1]]), argument) for argument in shlex.split(command.run)]


def _run(command: Command, arguments: list[str], place: Path, interrupts: Interrupts) -> None:
    """What it prints is in the claim's log, but for a standard output that the claim asks for. Raises Ended if it was, and UserError for
    an exit code that the claim does not name."""
    out = place / command.name
    if out.is_dir() and not command.goes_on:
        shutil.rmtree(out)  # by an earlier call that was ended
    with _log(place / LOG) as log:
        log.write(f"$ windtunnel {shlex.join(arguments)}\n".encode())
        log.flush()
        with replacing(place / command.stdout) if command.stdout else nullcontext(None) as stdout:
            with stdout.open("wb") if stdout else nullcontext(log) as file:
                code = _end_of([*OWN_COMMAND, *arguments], file, log, interrupts)
            if interrupts.count or code == INTERRUPTED:
                raise Ended
            if code not in command.exits:
                message = f"the command {command.name} ended with exit code {code}"
                raise UserError(message, remedy=f"its messages are in {place / LOG}")


def _log(file: Path) -> BinaryIO:
    """To append to. Raises UserError for a link or a FIFO."""
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return open(os.open(file, flags, 0o666), "ab")
    except OSError as error:
        raise cannot_write(file, error) from error


def _end_of(arguments: Sequence[str], stdout: BinaryIO, stderr: BinaryIO, interrupts: Interrupts) -> int:
    """The exit code of a command in a process group of its own: Ctrl-C reaches it from here alone, once each time, and it ends in good order. So it
    does if this process is killed."""
    command = ending_with_us(arguments, signal.SIGTERM)
    with (
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, process_group=0) as process,
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
