"""A trace of sampled loops as Chrome's Trace Event Format has it, which Perfetto opens: workers are tracks, bursts are slices.

While it runs the engine writes events of 24 bytes (engine/core/trace.h) into a file of its own, so that a crash leaves
what was written. Afterwards they become `trace.json`: one process an engine, one thread a worker; a slice a traced loop,
in it a slice a call that did something or was held up. Two engines of one host share the TSC, so they share the time line.

    python -P -m windtunnel.runs.trace RUN     makes trace.json of a run whose windtunnel did not live to do it
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.printing import print_values
from windtunnel.runs.directories import held
from windtunnel.runs.files import replacing
from windtunnel.runs.reader import Run, load
from windtunnel.runs.record import EngineRecord
from windtunnel.text_file import read_regular

FILE = "trace.json"
RAW = "trace.bin"
EVENT_BYTES_MOST = 192
"""No event takes more in trace.json: what a limit in bytes allows in events."""
MOST_RAW_BYTES = 1 << 30
"""Twice what the greatest limit allows."""

HEADER = np.dtype([("magic", "S8"), ("start_tsc", "<u8"), ("ns_per_tick", "<f8"), ("event_bytes", "<u8")])
EVENT = np.dtype([("start", "<u8"), ("end", "<u8"), ("objects", "<u4"), ("worker", "<u2"), ("stage", "<u2")])
MAGIC = b"WTTRACE1"
STALLED = np.uint32(1 << 31)
WHOLE_LOOP = 0xFFFF
IDS = 1000
"""Between the process ids of two engines; no two threads share an id, and none has the 0 that Perfetto takes for idling."""
CHUNK = 1 << 16
"""Events that are turned into text at once."""


@dataclass(frozen=True)
class Traced:
    """The raw trace of one engine."""

    raw: Path
    name: str
    plan: Plan
    windows: list[Window]
    start_tsc: int
    ns_per_tick: float
    events: np.ndarray


def convert(run: Run) -> Path | None:
    """Make trace.json of the raw traces in a run directory and remove these; None if there are none.

    Raises UserError if it cannot be written whole, and keeps the raw traces.
    """
    raws = {
        engine.name: run.path / Path(engine.plan.trace.path).name for engine in run.record.engines if engine.plan.trace
    }
    read = [_read(raws[e.name], e, run.windows[e.name]) for e in run.record.engines if e.name in raws]
    traced = [trace for trace in read if trace]
    if not traced:
        return None
    path = run.path / FILE
    if path.exists():
        raise UserError(f"{path}: exists already", remedy="move it elsewhere")
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii") as file:
        _write(file, traced)
    for trace in traced:
        trace.raw.unlink()
    return path


def _read(path: Path, engine: EngineRecord, windows: list[Window]) -> Traced | None:
    """Reads a raw trace, up to the last whole event. None if the engine ended before it wrote a header."""
    try:
        raw = read_regular(path, MOST_RAW_BYTES)
    except FileNotFoundError:
        return None
    if len(raw) < HEADER.itemsize:
        return None
    header = np.frombuffer(raw, HEADER, count=1)[0]
    if header["magic"] != MAGIC or header["event_bytes"] != EVENT.itemsize:
        raise UserError(f"{path}: not a trace of this windtunnel's engine")
    whole = (len(raw) - HEADER.itemsize) // EVENT.itemsize
    events = np.frombuffer(raw, EVENT, count=whole, offset=HEADER.itemsize)
    # a loop stands before the calls in it, even before a single one that is as long: so slices nest
    order = np.lexsort((WHOLE_LOOP - events["stage"], np.uint64(0) - events["end"], events["start"], events["worker"]))
    return Traced(
        path, engine.name, engine.plan, windows, int(header["start_tsc"]), float(header["ns_per_tick"]), events[order]
    )


def _write(file: TextIO, traced: list[Traced]) -> None:
    epoch = min(trace.start_tsc for trace in traced)
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    separator = ""
    for number, trace in enumerate(traced, 1):
        for text in _engine(trace, number * IDS, epoch):
            file.write(separator + text)
            separator = ",\n"
    file.write("\n]}\n")


def _engine(trace: Traced, pid: int, epoch: int) -> Iterator[str]:
    yield from map(_text, _names(trace, pid))
    origin = round((trace.start_tsc - epoch) * trace.ns_per_tick)
    for window in trace.windows:
        args = {"window": window.index}
        yield _text(_slice(window.phase, "window", origin + window.start_ns, origin + window.end_ns, pid, args))
    labels = [[_label(trace.plan, stage) for stage in worker.stages] for worker in trace.plan.workers]
    for first in range(0, len(trace.events), CHUNK):
        yield from _slices(trace.events[first : first + CHUNK], labels, trace.ns_per_tick, epoch, pid)


def _names(trace: Traced, pid: int) -> Iterator[dict[str, Any]]:
    def named(what: str, thread: int, **args: object) -> dict[str, Any]:
        return {"name": what, "ph": "M", "pid": pid, "tid": pid + thread, "args": args}

    yield named("process_name", 0, name=trace.name)
    yield named("thread_name", 0, name="windows")
    yield named("thread_sort_index", 0, sort_index=0)
    for thread, worker in enumerate(trace.plan.workers, 1):
        sides = dict.fromkeys(trace.plan.endpoints[stage.endpoint].side for stage in worker.stages)
        yield named("thread_name", thread, name=f"worker {thread - 1} on CPU {worker.cpu}: {' and '.join(sides)}")
        yield named("thread_sort_index", thread, sort_index=thread)


def _label(plan: Plan, stage: Any) -> tuple[str, str]:
    """The text before the times of a stage's slices, and the beginning of their arguments."""
    side = plan.endpoints[stage.endpoint].side
    return f'{{"name":"{stage.stage}","cat":"{side}"', f'{{"endpoint":"{side}","index":{stage.index},'


LOOP = ('{"name":"loop","cat":"loop"', "{")


def _slices(events: np.ndarray, labels: list[Any], ns_per_tick: float, epoch: int, pid: int) -> Iterator[str]:
    # Both ends are rounded, not the length: what touches still touches, what nests still nests.
    since = [
        np.rint((events[end] - np.uint64(epoch)).astype("f8") * ns_per_tick).astype("i8") for end in ("start", "end")
    ]
    objects, stalled = events["objects"] & ~STALLED, (events["objects"] & STALLED) != 0
    columns = (*since, events["worker"], events["stage"], objects, stalled)
    for start, end, worker, stage, moved, stopped in zip(*(column.tolist() for column in columns), strict=True):
        head, args = LOOP if stage == WHOLE_LOOP else labels[worker][stage]
        yield (
            f'{head},"ph":"X","ts":{_us(start)},"dur":{_us(end - start)},"pid":{pid},"tid":{pid + worker + 1},'
            f'"args":{args}"objects":{moved},"stalled":{"true" if stopped else "false"}}}}}'
        )


def _slice(name: str, category: str, start: int, end: int, pid: int, args: dict[str, Any]) -> dict[str, Any]:
    """A slice on the main thread's track."""
    times = {"ts": start / 1000, "dur": (end - start) / 1000}
    return {"name": name, "cat": category, "ph": "X"} | times | {"pid": pid, "tid": pid, "args": args}


def _us(ns: int) -> str:
    """Microseconds, to the nanosecond."""
    return f"{ns // 1000}.{ns % 1000:03}"


def _text(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"))


def main() -> None:
    directory = Path(sys.argv[1])
    with held(directory) as place:
        made = convert(load(place))
    print_values(directory / made.name if made else f"{directory}: no raw trace to convert")


if __name__ == "__main__":
    main()
