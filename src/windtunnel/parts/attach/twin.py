"""The twin of an observed application: a scenario whose threads take as long for a burst and a packet as the application's.

A thread becomes a worker with one queue of the wire `null`, which always has packets, and the packet handler `work`. What the emulation itself
takes, in its driver and around the handler, is measured first, by two short runs with bursts of two sizes. The handler takes the rest:

    handler(n) = application(n) - emulation(n),  each a straight line burst + packet x n

So the twin runs at the application's capacity, whatever load the application had.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.own_directory import for_temporary
from windtunnel.errors import UserError
from windtunnel.exchange.toml_text import text_of
from windtunnel.measure.execute import execute
from windtunnel.parts.attach.observed_windows import windows_of
from windtunnel.parts.attach.thread_metrics import Thread, threads
from windtunnel.runs.reader import Run
from windtunnel.runs.summary import summarise
from windtunnel.scenario import here, resolve
from windtunnel.scenario.load import SUFFIX
from windtunnel.scenario.load import scenario_of as scenario_of_text

CALIBRATION = {"duration": "1s", "warmup": "200ms", "window": "100ms"}
PHASES = {"duration": "3s", "warmup": "500ms", "window": "250ms"}
SMALL = 4
"""The second burst of the calibration is so many times smaller."""
LEAST_FRAME, MOST_FRAME = 60, 9000
LEAST_NS = 1e-3
"""A packet that takes less was not timed."""


@dataclass(frozen=True)
class BurstPrice:
    """ns a burst, and a packet of it."""

    burst: float
    packet: float

    def at(self, size: float) -> float:
        """ns a packet in a burst of this size."""
        return self.burst / size + self.packet


@dataclass(frozen=True)
class Twin:
    """An application and what stands for it."""

    program: str
    burst: int
    """The most packets that its threads ask for."""
    lines: dict[str, BurstPrice]
    """Thread -> what its turns take, the drivers included."""
    text: str
    """The scenario."""


def twin_of(run: Run) -> Twin:
    """Measures the emulation for two seconds. Raises UserError for a run that is no observation, and if this host does not let it measure."""
    observed = run.record.observed
    if observed is None:
        raise UserError(f"{run.path}: not an observation", remedy="a directory that `windtunnel attach` has left")
    receiving = [thread for thread in threads(windows_of(run.path), observed.tsc_hz) if thread.asked]
    lines = {
        thread.name: line for thread in receiving if (line := line_of(thread)) and line.at(thread.asked) >= LEAST_NS
    }
    if not lines:
        raise UserError(
            f"{run.path}: no thread has timed turns with packets", remedy="observe it longer, or under load"
        )
    frame, burst = round(observed.frame_bytes or LEAST_FRAME), max(thread.asked for thread in receiving)
    emulation = emulation_line(frame, burst)
    handlers = [BurstPrice(line.burst - emulation.burst, line.packet - emulation.packet) for line in lines.values()]
    data = scenario_of(frame, burst, handlers, observed.tsc_hz, PHASES) | {"title": f"Twin of {observed.program}"}
    question = f"What would {observed.program} do if ...? Its twin, from {run.path}"
    notes = [*_notes(receiving, lines), *_notes_on_emulation(emulation, handlers, burst)]
    return Twin(observed.program, burst, lines, text_of(question, notes, data))


def line_of(thread: Thread) -> BurstPrice | None:
    """What a turn of the thread takes; of bursts of one size all of it is the packets'. None: no turn with packets was timed."""
    line = None if thread.no_line else thread.line
    if line is not None:
        return BurstPrice(*(ticks * thread.tick_ns for ticks in line))
    return BurstPrice(0.0, thread.cost.all.mean) if thread.cost.all else None


def _notes(threads: Sequence[Thread], lines: Mapping[str, BurstPrice]) -> list[str]:
    return [
        f"{thread.name} takes {line.burst:.1f} ns a burst and {line.packet:.1f} ns a packet, its drivers included"
        + (f" ({thread.no_line})" if thread.no_line else "")
        for thread in threads
        if (line := lines.get(thread.name))
    ]


def _notes_on_emulation(emulation: BurstPrice, handlers: Sequence[BurstPrice], burst: int) -> Iterator[str]:
    yield (
        f"the emulation itself takes {emulation.burst:.1f} ns a burst and {emulation.packet:.1f} ns a packet on this host, at bursts of {burst}: "
        "the handler takes the rest"
    )
    if any(handler.at(burst) < 0 for handler in handlers):
        yield "the emulation takes more than the application: the handler takes nothing, and the twin is slower"


def emulation_line(frame: int, size: int) -> BurstPrice:
    """What the emulation takes for itself, by two short runs on this host. Raises UserError if these do not measure."""
    sizes = (size, max(size // SMALL, 1))
    costs = [_emulation_ns(frame, burst) for burst in sizes]
    if sizes[0] == sizes[1]:
        return BurstPrice(0.0, costs[0])
    burst = (costs[1] - costs[0]) / (1 / sizes[1] - 1 / sizes[0])
    return BurstPrice(max(burst, 0.0), costs[0] - max(burst, 0.0) / sizes[0])


def _emulation_ns(frame: int, burst: int) -> float:
    text = text_of(
        "What does the emulation itself take?", [], scenario_of(frame, burst, [BurstPrice(0.0, 0.0)], 1e9, CALIBRATION)
    )
    with tempfile.TemporaryDirectory(prefix="windtunnel-twin-", dir=for_temporary()) as directory:
        rate = run_rate(text, Path(directory) / "run")
    return 1e9 / rate


def run_rate(text: str, directory: Path) -> float:
    """Runs a scenario without a client; the packets a second that it received. Raises UserError with the reason if the run is invalid."""
    run = run_of(directory.with_suffix(SUFFIX), text, directory)
    if not run.usable():
        raise UserError(
            f"what the emulation itself takes was not measured: {run.record.verdict.reasons[0]}",
            remedy="stop the application, or whatever else runs on these CPUs, and repeat it",
        )
    return sum(port.rx_mpps or 0.0 for port in summarise(run).ports) * 1e6


def run_of(file: Path, text: str, directory: Path) -> Run:
    """Runs a scenario of this text into a new directory. What lies at `file`, where it was written, is not read: it may be another user's by now,
    and a scenario is a program."""
    spec = resolve(scenario_of_text(file, text), here())
    with Interrupts() as interrupts:
        return execute(spec, directory, interrupts).kept_run()


def scenario_of(
    frame: int, burst: int, lines: Sequence[BurstPrice], tsc_hz: float, phases: dict[str, str]
) -> dict[str, Any]:
    """The scenario's data: a workload of one queue for each thread."""
    ticks = tsc_hz / 1e9
    options = [
        {"burst_ticks": round(max(line.burst, 0.0) * ticks), "packet_ticks": round(max(line.packet, 0.0) * ticks)}
        for line in lines
    ]
    return {
        "title": "A twin",
        **phases,
        "wire": {"kind": "null", "packet": min(max(frame, LEAST_FRAME), MOST_FRAME)},
        "server": {"batch": dict.fromkeys(("nic_rx", "disp_rx", "disp_tx", "nic_tx"), burst)},
        "workload": [{"packet_handler": "work", "options": table} for table in options],
    }
