"""counters.jsonl: what the kernel counted for each worker's thread, window by window, beside what the engine counts.

Its first line says what was asked for. An event that could not be counted has a line with the reason and no others: absent is not zero.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from windtunnel.errors import UserError
from windtunnel.host import resctrl
from windtunnel.runs.metrics import measured
from windtunnel.runs.reader import Run
from windtunnel.runs.variants import messages_of
from windtunnel.text_file import lines_of

FILE = "counters.jsonl"
COUNTERS_VERSION: Literal[1] = 1
MAX_BYTES = 1 << 30
MAX_LINE_BYTES = 1 << 20
MOST_ROWS, MOST_REASONS = 10_000, 10
"""Events of all workers; reasons of one of them that are told."""


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


def read_counters(run: Path) -> Iterator[Asked | Absent | Count]:
    """The lines of a run directory, one after the other; none if nothing was asked for. A last line that a crash cut off is left out. Raises
    UserError with file and line."""
    file = run / FILE
    with suppress(FileNotFoundError):
        for number, line in enumerate(lines_of(file, MAX_BYTES, MAX_LINE_BYTES), start=1):
            if line.endswith(b"\n"):
                yield _line(file, number, line)


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


@dataclass
class _Sum:
    """Of one event of one worker: what its lines add up to, so that none of them is kept."""

    first: Absent | Count
    in_windows: Count | None = None
    """The first one of a window that counts."""
    windows: int = 0
    counted: int = 0
    enabled: int = 0
    running: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    def add(self, line: Absent | Count, windows: Collection[int]) -> None:
        if isinstance(line, Absent):
            if len(self.reasons) < MOST_REASONS:
                self.reasons[line.reason] = None
        elif line.window in windows:
            self.in_windows = self.in_windows or line
            self.enabled += line.enabled_ns or 0
            self.running += line.running_ns or 0
            if line.counted is not None:
                self.windows += 1
                self.counted += line.counted


def event_rows(run: Run) -> list[EventRow]:
    """One row for each event of each worker, in the order in which they were asked for. Raises UserError as `read_counters`, and for more rows
    than a run has."""
    counted = {name: measured(of) for name, of in run.counted.items()}
    numbers = {name: {window.index for window in of} for name, of in counted.items()}
    sums: dict[tuple[int, str, int], _Sum] = {}
    places: dict[str, int] = {}
    for line in read_counters(run.path):
        if isinstance(line, Asked):
            places = {event: place for place, event in enumerate(line.events)}
            continue
        key = (places.get(line.event, len(places)), line.engine, line.worker)
        if key not in sums and len(sums) == MOST_ROWS:
            raise UserError(f"{run.path / FILE}: more than {MOST_ROWS:,} events of workers")
        sums.setdefault(key, _Sum(line)).add(line, numbers.get(line.engine, set()))
    every = [window for of in counted.values() for window in of]
    total = messages_of(every)
    return [
        _row(of, len(numbers.get(of.first.engine, ())), total) for _, of in sorted(sums.items(), key=lambda i: i[0])
    ]


@dataclass(frozen=True)
class EventTotal:
    """One event of a run, all workers together."""

    value: float | None
    """A message; of a level its mean. None: a worker has no value, and `words` says why."""
    words: str | None
    """As those of the workers' rows, each once."""


def event_totals(run: Run) -> dict[str, EventTotal]:
    """By event, in the order in which they were asked for. Raises UserError as `event_rows`."""
    of_events: dict[str, list[EventRow]] = {}
    for row in event_rows(run):
        of_events.setdefault(row.event, []).append(row)
    return {event: _total(rows) for event, rows in of_events.items()}


def _total(rows: list[EventRow]) -> EventTotal:
    values = [row.value if _is_level(row.event) else row.a_message for row in rows]
    known = [value for value in values if value is not None]
    words = list(dict.fromkeys(row.words for row in rows if row.words))
    if len(known) < len(rows):
        return EventTotal(None, "; ".join(words) or "the run has no messages")
    return EventTotal(sum(known), "; ".join(words) or None)


def _is_level(event: str) -> bool:
    return event in resctrl.EVENTS and resctrl.EVENTS[event].level


def _row(of: _Sum, windows: int, total: int) -> EventRow:
    """`windows`: number of those that count."""
    first, line, words = of.first, of.in_windows, list(of.reasons)
    unit = line.unit if line else ""
    row = partial(EventRow, first.event, first.engine, first.worker, first.cpu, unit, windows=of.windows)
    if line is None or not of.windows:
        words = words or ["no window that counts has this event"]
        return row(value=None, a_message=None, counted_share=None, words="; ".join(words))
    if line.level:
        words = ["mean over windows", *words]
        return row(value=of.counted / of.windows, a_message=None, counted_share=None, words="; ".join(words))
    share = min(of.running / of.enabled, 1.0) if of.enabled else None
    value = float(of.counted) if share is None else of.counted / share if share else None
    if line.user_only:
        words.append("without the kernel's part")
    if share is not None and share < 1:
        words.append(f"counted in {share:.0%} of the time, and scaled" if share else "it never had a hardware counter")
    if of.windows < windows:
        words.append(f"in {of.windows} of {windows} windows")
    whole = value is not None and of.windows == windows and total
    return row(
        value=value, a_message=value / total if value is not None and whole else None, counted_share=share,
        words="; ".join(words) or None,
    )  # fmt: skip
