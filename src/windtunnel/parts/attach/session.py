"""One observation from begin to end: a way in, a lease, windows, experiments, the run directory."""

import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.finding import NotMeasured
from windtunnel.measure.execute import new_directory
from windtunnel.parts.attach import delay_lines, way_in
from windtunnel.parts.attach.experiments import DelayLine, Delays, NotShownLine, run_causal, run_headroom
from windtunnel.parts.attach.lines import WindowLine
from windtunnel.parts.attach.live_table import Listener
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.observer import Observer, Presence, alive, believable, leased, opened
from windtunnel.parts.attach.observer_cpus import kept_off_data_path
from windtunnel.parts.attach.page import Page
from windtunnel.parts.attach.processes import Application, application_of, choose
from windtunnel.parts.attach.telemetry import Telemetry
from windtunnel.parts.attach.thread_metrics import Thread, threads
from windtunnel.runs.directories import Held
from windtunnel.runs.files import LineFile
from windtunnel.runs.reader import Run

FIRST_S = 0.2
"""Time for which turns are counted before the first window, two periods of the probe."""
START_S = 20.0
"""Longest time from the start of a command to its first port: EAL zeroes its memory."""
END_S = 5.0
"""Time for a command to end after SIGTERM."""
ENDED = "application ended: the process has ended"


@dataclass(frozen=True)
class Request:
    """What is wanted of an observation."""

    seconds: float
    window_s: float
    presence: Presence
    causal: bool
    headroom: bool
    anyway: bool
    telemetry: bool


@dataclass(frozen=True)
class Observation:
    """An observation that was made."""

    run: Run
    interrupted: bool
    held: Held
    """Its directory, whatever has taken its name meanwhile."""


def observe(target: list[str], request: Request, out: Path | None, listener: Listener) -> Observation:
    """Observes a process, or starts a command and observes it. `listener` gets each window. Raises UserError if the probe cannot come into it."""
    if request.telemetry:
        return _by_telemetry(target, request, out, listener)
    with Interrupts() as interrupts, _application(target) as application, opened(application.pid) as page:
        with leased(page, request.presence), kept_off_data_path() as keep_off:

            def take(window: WindowLine, tsc_hz: float) -> None:
                keep_off(window)
                listener(window, tsc_hz)

            _wait_for_ports(page, application)
            writer = ObservedRunWriter(out or new_directory(application.name), application, _release(page))
            observer = Observer(page, application.pid)
            keep_off(observer.bound_turns(FIRST_S))
            reasons = _windows(writer, observer, request, interrupts, take)
            tsc_hz = observer.tsc_hz
        if tsc_hz is None:
            raise UserError(f"{application.name}: it ended before its clock was measured", remedy="observe it longer")
        observed = threads(writer.windows, tsc_hz)
        with believable():
            run = writer.finish(reasons, tsc_hz)
        if observed and not reasons and (request.causal or request.headroom):
            _experiments(writer.held, page, application, request, observed, interrupts)
        return Observation(run, interrupts.count > 0, writer.held)


def _by_telemetry(target: list[str], request: Request, out: Path | None, listener: Listener) -> Observation:
    """Loads nothing into the process."""
    if len(target) > 1:
        raise UserError("--telemetry: it needs a process that runs", remedy="start the command, and give its PID")
    application = choose(target[0])
    try:
        with Interrupts() as interrupts, Telemetry(application) as telemetry:
            release = telemetry.release()
            writer = ObservedRunWriter(out or new_directory(application.name), application, release, "telemetry")
            reasons = _windows(writer, telemetry, request, interrupts, listener)
            return Observation(writer.finish(reasons, telemetry.tsc_hz), interrupts.count > 0, writer.held)
    except ProcessLookupError:
        raise UserError(f"{application.name}: it ended before it was observed", remedy="see its own output") from None


def is_command(target: Sequence[str]) -> bool:
    """Whether it is started, and does not name a process that runs, of whatever user."""
    return len(target) > 1 or "/" in target[0]


@contextmanager
def _application(target: list[str]) -> Iterator[Application]:
    if not is_command(target):
        application = choose(target[0])
        way_in.inject(application)
        yield application
        return
    process = way_in.start(target)
    try:
        yield _started(process, target[0])
    finally:
        _end(process)


def _started(process: "subprocess.Popen[bytes]", program: str) -> Application:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise UserError(
                f"{program}: ended with {process.returncode} before it had DPDK",
                remedy="its own words are above",
            )
        if application := application_of(process.pid):
            return application
        time.sleep(0.05)
    raise UserError(f"process {process.pid}: it has no DPDK in it", remedy="give the command of a DPDK application")


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for_ports(page: Page, application: Application) -> None:
    """A command that was just started has none yet. The probe looks for them under a lease."""
    deadline = time.monotonic() + START_S
    while not page.ports():
        if not alive(application.pid):
            raise UserError(f"{application.name}: it ended before it had a port", remedy="see its own output")
        if time.monotonic() > deadline:
            raise UserError(f"{application.name}: it has no port after {START_S:.0f} s", remedy="start its ports first")
        time.sleep(0.02)


def _release(page: Page) -> str | None:
    return f"{page.head.year}.{page.head.month:02}" if page.head.year else None


def _windows(
    writer: ObservedRunWriter,
    observer: Observer | Telemetry,
    request: Request,
    interrupts: Interrupts,
    listener: Listener,
) -> list[str]:
    """Keeps windows until the time is over; why the run is invalid otherwise."""
    for _ in range(round(request.seconds / request.window_s)):
        readable, _, _ = select.select([interrupts.fd], [], [], request.window_s)
        try:
            window = observer.window()
        except ProcessLookupError:
            return [ENDED]
        writer.append(window)
        if tsc_hz := observer.tsc_hz:
            listener(window, tsc_hz)
        if readable:
            return ["stopped before the end: interrupted by the user"]
    return []


def _experiments(
    directory: Held,
    page: Page,
    application: Application,
    request: Request,
    observed: Sequence[Thread],
    interrupts: Interrupts,
) -> None:
    """Keeps the steps of the experiments. They need the probe all the time, so their windows are in no metric."""
    with directory.named():
        file = LineFile(directory.place / delay_lines.FILE)

    def keep(line: DelayLine | NotShownLine) -> None:
        with directory.named():
            file.append(line.model_dump_json() + "\n")

    with closing(file), leased(page, replace(request.presence, on_us=request.presence.period_us)):
        delays = Delays(page, Observer(page, application.pid), observed[0].tick_ns, interrupts.fd)
        if request.causal:
            with _kept_if_not_shown(keep, 0):
                _refuse_losses(observed, request.anyway)
                run_causal(delays, observed, keep)
        for thread in observed if request.headroom else ():
            with _kept_if_not_shown(keep, thread.number):
                run_headroom(delays, thread, keep)


@contextmanager
def _kept_if_not_shown(keep: Callable[[NotShownLine], None], thread: int) -> Iterator[None]:
    try:
        yield
    except NotMeasured as missing:
        keep(NotShownLine(thread=thread, reason=str(missing)))
    except ProcessLookupError:
        keep(NotShownLine(thread=thread, reason="the process has ended"))


def _refuse_losses(observed: Sequence[Thread], anyway: bool) -> None:
    full = [thread.name for thread in observed if thread.saturated]
    if full and not anyway:
        raise NotMeasured(f"{' and '.join(full)} is saturated, so each delay loses packets: --anyway accepts that")
