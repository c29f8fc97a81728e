"""Live outputs of `run`: metrics, telemetry, counters, the monitor, a trace."""

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windtunnel.exchange.openmetrics import Windows
    from windtunnel.measure.counters import Counting
    from windtunnel.measure.monitor.monitor import RunMonitor
    from windtunnel.runs import Run
    from windtunnel.runs.directories import Held
    from windtunnel.scenario import RunSpec

TRACE_EVERY = 997
"""Loops between traced ones; a prime, so that it is not in step with a pattern of the loop."""
TRACE_LIMIT = "256MiB"
SPARE_BYTES = 64 << 20
"""Disk space that a trace leaves free for the run's other files."""


def traced(spec: "RunSpec", directory: Path, every: int, limit: str) -> "RunSpec":
    """The run with a trace. Raises UserError if the disk has no room for all that the limit allows."""
    from windtunnel.runs.trace import EVENT, EVENT_BYTES_MOST, RAW
    from windtunnel.scenario.quantities import option, write

    size = int(option("--trace-limit", "size", limit, "1MiB", "4GiB"))
    events = size // EVENT_BYTES_MOST
    need = size + events * EVENT.itemsize  # until trace.json is whole, its source files stay beside it
    free = shutil.disk_usage(_existing(directory)).free
    if need > free - SPARE_BYTES:
        raise UserError(
            f"--trace may take {round(need / 2**20)} MiB of the disk, {directory} has {free >> 20} MiB",
            remedy=f"--trace-limit below {write('size', size)}, or a directory with more room: --out",
        )
    return spec.traced(RAW, every, events)


@contextmanager
def serving(spec: "RunSpec", address: str | None) -> "Iterator[Windows | None]":
    """Metrics at the address while the context lasts. Raises UserError if it cannot listen there."""
    if address is None:
        yield None
        return
    from windtunnel.exchange.address import parse
    from windtunnel.exchange.metrics_server import Server
    from windtunnel.exchange.openmetrics import Windows

    windows = Windows(spec)
    with Server(parse(address), windows):
        yield windows


@contextmanager
def counting(events: str | None) -> "Iterator[Counting | None]":
    """Counts events of a run while the context lasts. Raises UserError for an unknown event."""
    if events is None:
        yield None
        return
    from windtunnel.measure.counters import Counting, parse

    counts = Counting(parse(events))
    try:
        yield counts
    finally:
        counts.close()


@contextmanager
def monitoring(spec: "RunSpec", metrics: str | None) -> "Iterator[RunMonitor | None]":
    """Monitors the host of a run while the context lasts: each tool for its part of the measurement. Raises UserError for an unknown metric. What
    goes wrong later is reported on stderr, and changes no verdict."""
    if metrics is None:
        yield None
        return
    from windtunnel.measure.monitor.monitor import Request, RunMonitor
    from windtunnel.measure.monitor.tools import metrics_of
    from windtunnel.results.terminal.messages import show_error

    cpus = sorted({worker.cpu for plan in spec.plans for worker in plan.workers})
    request = Request(metrics_of(metrics), cpus, kept_free=cpus)
    measured_s = max(plan.phases.duration_ns for plan in spec.plans) / 1e9
    turn_s = measured_s / max(len(request.tools), 1) - 1  # a tool needs about a second until it counts
    monitor = RunMonitor(replace(request, seconds=max(1, int(turn_s))))
    try:
        yield monitor
    finally:
        try:
            monitor.close()
        except UserError as error:
            show_error(error)


def hints(spec: "RunSpec", metrics: str | None) -> list[str]:
    """The addresses of the live outputs, one line each."""
    from windtunnel.engine.telemetry import how_to_ask

    lines = [f"telemetry: {how_to_ask(plan)}" for plan in spec.plans]
    if metrics:
        from windtunnel.exchange.address import parse

        lines.append(f"metrics: {parse(metrics).url}")
    return lines


def write_trace(run: "Run", directory: "Held") -> Path | None:
    """Makes trace.json in the run's directory, which is open, and returns its path. Missing events are reported on stderr and change no
    verdict."""
    from windtunnel.results.terminal.messages import show_error, show_warning
    from windtunnel.runs.trace import convert

    for engine in run.record.engines:
        trace = engine.result.trace if engine.result else None
        if trace and trace.missed:
            why = f" ({trace.fault})" if trace.fault else ""
            show_warning(f"trace of {engine.name}: {trace.events} events, {trace.missed} more not written{why}")
    try:
        with directory.named():
            trace_file = convert(replace(run, path=directory.place))
        return trace_file and run.path / trace_file.name
    except UserError as error:
        show_error(error)
        return None


def _existing(directory: Path) -> Path:
    directory = directory.absolute()
    return next(path for path in (directory, *directory.parents) if path.exists())
