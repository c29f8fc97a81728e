"""One run: plans into the engines, their lines into a run directory, a verdict at the end. Every run is executed here."""

import gc
from collections.abc import Callable, Iterator, Sequence
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
from windtunnel.host import facts, levels
from windtunnel.live.process import ANNOUNCEMENT, AnnouncedRun
from windtunnel.measure.validity import Extension, Preempting, readings_of, validate
from windtunnel.runs import Run, RunWriter, Verdict
from windtunnel.runs.directories import Held
from windtunnel.runs.latest import RUNS
from windtunnel.runs.validity import windows_of
from windtunnel.scenario import RunSpec


@dataclass(frozen=True)
class RunOutcome:
    """What a run left behind."""

    run: Run | None
    """None: its directory could not be written to the end, and `unkept` says why."""
    verdict: Verdict
    exit_code: int
    """Exit code of `windtunnel run`: 0 valid, 1 invalid, 2 refused by the engine, 130 interrupted."""
    interrupted: bool
    """The user asked for its end, and wants no further run either."""
    unkept: UserError | None = None
    held: Held | None = None
    """The run's directory, open as long as this is kept. None: it ran elsewhere."""

    def kept_run(self) -> Run:
        """The run. Raises `unkept` if there is none."""
        if self.run is None:
            raise self.unkept or UserError("the run was not kept")
        return self.run


def execute(
    spec: RunSpec,
    directory: Path,
    interrupts: Interrupts,
    listeners: Sequence[Listener] = (),
    host: facts.Facts | None = None,
    place: Place | None = None,
    settle: bool = False,
    writing: Sequence[Callable[[Held], Listener]] = (),
) -> RunOutcome:
    """Runs into a new directory. `host`: facts collected before; with a `place` it alternates with another run. `settle`: it goes on
    beyond its duration until it has settled, up to `validity.settle`. `writing`: each makes a listener that writes into the run's directory.

    Raises UserError if no engine is found or the directory cannot be made; what goes wrong later is in the verdict.
    """
    engine = find_engine()
    spec = spec.into(directory)
    host = host or facts.collect()
    with ANNOUNCEMENT.running(spec, directory) as announced:
        outcome = _run(engine, spec, directory, interrupts, listeners, host, place, settle, writing, announced)
        announced.ended(outcome.verdict)
    return outcome


def _run(
    engine: Path,
    spec: RunSpec,
    directory: Path,
    interrupts: Interrupts,
    listeners: Sequence[Listener],
    host: facts.Facts,
    place: Place | None,
    settle: bool,
    writing: Sequence[Callable[[Held], Listener]],
    announced: AnnouncedRun,
) -> RunOutcome:
    writer, preempting = RunWriter(directory, spec, host), Preempting(engine)
    limits = spec.scenario.validity
    extension = None
    if settle and _is_whole(spec):
        extension = Extension(lambda: writer.engines, writer.windows, limits, levels.read_kept(host))
    listening = [writer.line, preempting.line, announced.line, *listeners, *(make(writer.held) for make in writing)]
    supervisor = Supervisor(engine, writer.log_path, listening, interrupts, place, extension)
    with no_garbage_collection(), writer.held.named():
        finished = supervisor.run(spec.plans, spec.names)
    verdict, validity = judge(finished), None
    if windows_of(writer.windows):  # a run that was stopped too: the user looks at what it measured
        programs = preempting.programs_text(writer.engines)
        validity = validate(writer.engines, writer.windows, limits, _readings(writer, host), programs)
        reasons = [*verdict.reasons, *validity.reasons]
        verdict = Verdict(not reasons, reasons)
    try:
        run, unkept = writer.finish(verdict, validity), None
    except UserError as error:
        run, unkept = None, error
    return RunOutcome(run, verdict, exit_code(finished, verdict), finished.interrupted, unkept, writer.held)


def _is_whole(spec: RunSpec) -> bool:
    """Whether both sides are of this run. A peer that runs in a process of its own cannot be asked to measure longer."""
    return all(plan.hello_wait_ns is None for plan in spec.plans)


def _readings(writer: RunWriter, host: facts.Facts) -> levels.Readings:
    """What was read on this host so far, with this run's; kept for the next run."""
    known = levels.read_kept(host)
    known.update(readings_of(writer.windows))
    levels.keep(known, host)
    return known


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """No full garbage collection meanwhile: one took 60 ms, which on a machine of two cores a worker loses."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def new_directory(stem: str, side: str | None = None) -> Path:
    """The default directory of a run of this scenario: runs/<UTC time>-<scenario>[-<side>]."""
    return RUNS / f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{stem}{f'-{side}' if side else ''}"
