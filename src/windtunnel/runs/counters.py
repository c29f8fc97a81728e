"""counters.jsonl: what the kernel counted for each worker's thread, window by window, beside what the engine counts.

Its first line says what was asked for. An event that could not be counted has a line with the reason and no others: absent is not zero.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from windtunnel.errors import UserError
from windtunnel.runs.metrics import measured
from windtunnel.runs.reader import Run
from windtunnel.runs.variants import messages
from windtunnel.text_file import lines_of

FILE = "counters.jsonl"
COUNTERS_VERSION: Literal[1] = 1
MAX_BYTES = 1 << 30
MAX_LINE_BYTES = 1 << 20


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Asked(Part):
    """The first line."""

    type: Literal["asked"] = "asked"
    version: Literal[1] = 1
    events: list[str]


class Absent(Part):
    """An event that is not counted, or not any more."""

    type: Literal["absent"] = "absent"
    engine: str
    worker: int
    cpu: int
    event: str
    reason: str


class Count(Part):
    """One event of one worker in one window: read when the window's line came, and less what it was at the line before."""

    type: Literal["count"] = "count"
    engine: str
    window: int
    at_ns: int = Field(description="the end of the window, on the engine's clock")
    worker: int
    cpu: int
    event: str
    unit: str
    counted: int | None = Field(
        description="as the kernel counted it; of a level the state at the end; null: its counter was reset within the window"
    )
    value: float | None = Field(
        description="the same, scaled by enabled_ns / running_ns if the event had a counter for a part of the time; null: for none of it, "
        "or `counted` is"
    )
    enabled_ns: int | None = Field(description="for which the thread ran; null: of an event of resctrl")
    running_ns: int | None = Field(description="the part of it in which the event had a hardware counter")
    level: bool = Field(description="a state, not a count")
    user_only: bool = Field(description="only user space is counted, because no more was permitted")


LINE = TypeAdapter(Annotated[Asked | Absent | Count, Field(discriminator="type")])


@dataclass(frozen=True)
class EventRow:
    """One event of one worker, over the windows that the metrics of the run use."""

    event: str
    engine: str
    worker: int
    cpu: int
    unit: str
    value: float | None
    """Scaled sum of a counter, mean of a level. None: absent, or it never had a hardware counter."""
    a_message: float | None
    """None: the event is a level, the run has no messages, or windows are missing."""
    counted_share: float | None
    """Share of the time in which the event had a hardware counter; below 1 the value is scaled. None: it needs none, or is absent."""
    windows: int
    """Number of windows with a count."""
    words: str | None
    """Why it is absent, or what is to be known of its value."""


def read_counters(run: Path) -> list[Asked | Absent | Count]:
    """The lines of a run directory; none if nothing was asked for. A last line that a crash cut off is left out. Raises UserError with
    file and line."""
    file = run / FILE
    lines = enumerate(lines_of(file, MAX_BYTES, MAX_LINE_BYTES), start=1)
    try:
        return [_line(file, number, line) for number, line in lines if line.endswith(b"\n")]
    except FileNotFoundError:
        return []


def _line(file: Path, number: int, line: bytes) -> Asked | Absent | Count:
    try:
        return LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{file}:{number}: {where + ': ' if where else ''}{first['msg']}",
            remedy=f"a line of {FILE} as `windtunnel run` writes it",
        ) from error


def event_rows(run: Run) -> list[EventRow]:
    """One row for each event of each worker, in the order in which they were asked for. Raises UserError as `read_counters`."""
    lines: dict[tuple[int, str, int], list[Absent | Count]] = {}
    asked: list[str] = []
    for line in read_counters(run.path):
        if isinstance(line, Asked):
            asked = line.events
        else:
            place = asked.index(line.event) if line.event in asked else len(asked)
            lines.setdefault((place, line.engine, line.worker), []).append(line)
    counted = {name: measured(of) for name, of in run.counted.items()}
    numbers = {name: {window.index for window in of} for name, of in counted.items()}
    every = [window for of in counted.values() for window in of]
    total = sum(messages(w) for w in every if w.workloads or not any(other.workloads for other in every))
    return [
        _row(of, numbers.get(of[0].engine, set()), total) for _, of in sorted(lines.items(), key=lambda item: item[0])
    ]


def _row(lines: Sequence[Absent | Count], windows: Collection[int], total: int) -> EventRow:
    first = lines[0]
    of = [line for line in lines if isinstance(line, Count) and line.window in windows]
    counts = [line.counted for line in of if line.counted is not None]
    words = [line.reason for line in lines if isinstance(line, Absent)]
    unit = of[0].unit if of else ""
    row = partial(EventRow, first.event, first.engine, first.worker, first.cpu, unit, windows=len(counts))
    if not counts:
        words = words or ["no window that counts has this event"]
        return row(value=None, a_message=None, counted_share=None, words="; ".join(words))
    if of[0].level:
        words = ["mean over windows", *words]
        return row(value=sum(counts) / len(counts), a_message=None, counted_share=None, words="; ".join(words))
    enabled, running = sum(line.enabled_ns or 0 for line in of), sum(line.running_ns or 0 for line in of)
    share = min(running / enabled, 1.0) if enabled else None
    value = float(sum(counts)) if share is None else sum(counts) / share if share else None
    if of[0].user_only:
        words.append("without the kernel's part")
    if share is not None and share < 1:
        words.append(f"counted in {share:.0%} of the time, and scaled" if share else "it never had a hardware counter")
    if len(counts) < len(windows):
        words.append(f"in {len(counts)} of {len(windows)} windows")
    whole = value is not None and len(counts) == len(windows) and total
    return row(
        value=value, a_message=value / total if value is not None and whole else None, counted_share=share,
        words="; ".join(words) or None,
    )  # fmt: skip
