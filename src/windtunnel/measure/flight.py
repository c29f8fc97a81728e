"""One flight: plans into the engines, their lines into a run directory, a verdict at the end. All that flies goes this way."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.supervisor import Listener, Supervisor
from windtunnel.engine.turns import Place
from windtunnel.engine.verdict import exit_code, judge
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.validity import validate
from windtunnel.runs import Run, RunWriter, Verdict
from windtunnel.runs.latest import RUNS
from windtunnel.scenario import Flight


@dataclass(frozen=True)
class Landing:
    """What a flight left."""

    run: Run | None
    """None: its directory could not be finished, and `unkept` says why."""
    verdict: Verdict
    exit_code: int
    """Of `windtunnel run`: 0 valid, 1 invalid, 2 refused by the engine, 130 interrupted."""
    interrupted: bool
    """Somebody asked for its end, who wants no further flight either."""
    unkept: UserError | None = None


def fly(
    flight: Flight,
    directory: Path,
    interrupts: Interrupts,
    listeners: Sequence[Listener] = (),
    host: facts.Facts | None = None,
    place: Place | None = None,
) -> Landing:
    """Flies into a new directory. `host` spares looking at the machine again; with a `place` it flies by turns with another flight.

    Raises UserError where no engine is found or the directory cannot be made; what goes wrong later is in the verdict.
    """
    engine = find_engine()
    flight = flight.into(directory)
    writer = RunWriter(directory, flight, host or facts.collect())
    with uncollected():
        flown = Supervisor(engine, writer.log_path, [writer.line, *listeners], interrupts, place).fly(
            flight.plans, flight.names
        )
    verdict, validity = judge(flown), None
    if verdict.valid:
        validity = validate(writer.engines, writer.windows, flight.scenario.validity)
        verdict = Verdict(not validity.reasons, validity.reasons)
    try:
        run, unkept = writer.finish(verdict, validity), None
    except UserError as error:
        run, unkept = None, error
    return Landing(run, verdict, exit_code(flown, verdict), flown.interrupted, unkept)


@contextmanager
def uncollected() -> Iterator[None]:
    """No full garbage collection meanwhile: it was seen to take 60 ms, on a machine of two cores from a worker."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def new_directory(stem: str, side: str | None = None) -> Path:
    """Where a run of this scenario goes when nobody says: runs/<UTC time>-<scenario>[-<side>]."""
    return RUNS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{stem}{f'-{side}' if side else ''}"
