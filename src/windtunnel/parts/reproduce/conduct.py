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
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from windtunnel.engine import own_directory
from windtunnel.engine.find import CHECKOUT
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.own_command import OWN_COMMAND
from windtunnel.engine.parent_death import ending_with_us
from windtunnel.engine.verdict import INTERRUPTED
from windtunnel.errors import UserError, cannot_write
from windtunnel.parts.reproduce import claim_record, decide, place_seals
from windtunnel.parts.reproduce.claim import DONE, LOG, MAX_FILE_BYTES, PLACE, Claim, Command, folder
from windtunnel.parts.reproduce.claim_record import ClaimRecord, Claims, ClaimState
from windtunnel.parts.reproduce.needs import missing
from windtunnel.parts.reproduce.place_seals import TEXT
from windtunnel.parts.reproduce.plot import draw
from windtunnel.parts.reproduce.queries import Ended, queries_of
from windtunnel.runs.directories import making
from windtunnel.runs.files import replace, replacing, temporary_of
from windtunnel.text_file import read_regular
from windtunnel.version import __version__

BEGUN = "begun"
"""In the place of the digest of what a command has written."""
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
    what is left of it. `announce` gets each claim and command before it runs. A command that fails leaves its claim undecided, and the next call repeats it.
    Raises UserError as `check_way`."""
    check_way(directory)
    with Interrupts() as interrupts:
        return _reproduce(claims, directory, within_s, announce, clock, interrupts)


def check_way(directory: Path, *, is_there: bool = False) -> None:
    """Raises UserError if another user, root apart, may put something else in the place of the directory, or into it: files are written and
    removed there by name, by commands of claims as well. `is_there`: it has been made, so that nothing may be missing of the way."""
    if not (own_directory.is_own if is_there else own_directory.may_become_own)(directory):
        raise UserError(
            f"{directory}: other users may write into it, or into a directory above it",
            remedy="name a directory of your own with --out",
        )


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
        own_directory.make_on_own_way(place.parent, 0o755)
        with making(place) as made:
            replace(made / TEXT, claim.source.text)
            place_seals.write(made, place_seals.PLACE_SEAL)
        return
    if not place_seals.is_ours(place):
        raise UserError(f"{place} was not begun by you on this host", remedy=another)
    if read_regular(place / TEXT, MAX_FILE_BYTES).decode() != claim.source.text:
        raise UserError(f"{place} is of another text of the claim", remedy=another)


def _decide(claim: Claim, place: Path, announce: Announce, interrupts: Interrupts) -> ClaimRecord:
    _begin(claim, place)
    check_way(place, is_there=True)
    digests: list[str] = []
    for command in claim.command:
        done, digest = command.name + DONE, place_seals.digest(place, command.writes)
        if not place_seals.holds(place, done, *digests, digest):
            arguments = _arguments(command, place)
            announce(claim, shlex.join(arguments))
            if not (command.goes_on and place_seals.holds(place, done, *digests, BEGUN)):
                _remove(place / command.name)  # by an earlier call that was ended, or of others
                place_seals.write(place, done, *digests, BEGUN)
            _run(command, arguments, place, interrupts)
            digest = place_seals.digest(place, command.writes)
            place_seals.write(place, done, *digests, digest)
        digests.append(digest)
    _check(claim, place, digests)
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


def _check(claim: Claim, place: Path, digests: Sequence[str]) -> None:
    """Raises UserError for a file that no command has written, because queries would read it, too, and if what they have written has other digests
    by now."""
    names = [claim_record.NAME, claim_record.VERDICT_SEAL, place_seals.PLACE_SEAL, TEXT]
    names += [name for command in claim.command for name in (command.name + DONE, *command.writes)]
    for name in names:
        with suppress(OSError):
            temporary_of(place / name).unlink()
    if others := sorted(set(os.listdir(place)) - set(names)):
        raise UserError(f"{place / others[0]}: no command of the claim has written it", remedy="remove it")
    if digests != [place_seals.digest(place, command.writes) for command in claim.command]:
        raise UserError(f"{place}: what its commands have written was changed meanwhile", remedy="repeat this command")


def _remove(path: Path) -> None:
    """What is there, if anything is."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _name(claim: Claim) -> str:
    """Of its directory."""
    return claim.id.replace("/", "-")


def _arguments(command: Command, place: Path) -> list[str]:
    places = {"out": place / command.name, "place": place, "claims": folder(), "checkout": CHECKOUT}
    return [PLACE.sub(lambda name: str(places[name[1]]), argument) for argument in shlex.split(command.run)]


def _run(command: Command, arguments: list[str], place: Path, interrupts: Interrupts) -> None:
    """What it prints is in its log, but for a standard output that the claim asks for. Raises Ended if it was, and UserError for an exit code that the
    claim does not name."""
    file_of_log = place / (command.name + LOG)
    with _new_log(file_of_log) as log:
        log.write(f"$ windtunnel {shlex.join(arguments)}\n".encode())
        log.flush()
        with replacing(place / command.stdout) if command.stdout else nullcontext(None) as stdout:
            with stdout.open("wb") if stdout else nullcontext(log) as file:
                code = _end_of([*OWN_COMMAND, *arguments], file, log, interrupts)
            if interrupts.count or code == INTERRUPTED:
                raise Ended
            if code not in command.exits:
                message = f"the command {command.name} ended with exit code {code}"
                raise UserError(message, remedy=f"its messages are in {file_of_log}")


def _new_log(file: Path) -> BinaryIO:
    """In the place of what has its name. Raises UserError if it cannot be made."""
    _remove(file)
    try:
        return open(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "ab")
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
