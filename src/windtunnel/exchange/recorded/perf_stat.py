"""`perf stat -x,` and `perf stat -j` (CSV FORMAT and JSON FORMAT in perf-stat(1)).

A row has value, unit, event, time for which it had a counter, share of the time, then further metrics. With -I a time stands in front, with
-A a CPU, with --per-thread a thread, with --per-socket, --per-die, --per-node and --per-core an id and a number of CPUs; with -G a cgroup
follows the event, with -r the spread of the runs. Values of one event are added up; perf has scaled them where counters were shared.
Intervals and their --summary say the same twice: the summary is left out. A share has two decimals, which tells a decimal comma that cuts
one cell in two.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "perf stat"
SEPARATORS = (",", ";", "\t", "|")
_TIME = re.compile(r"\s*\d{1,12}\.\d{9}")
_GROUP = re.compile(r"[SDNL]\d+(-[A-Z]\d+)*")
_ONE = re.compile(r"CPU\d+|.+-\d+")
_MODIFIERS = re.compile(r":[ukhHGIpPSDWeb]+$")
_NOT = re.compile(r"<not (counted|supported)>")
_SPREAD = re.compile(r"\d{1,9}\.\d{2}%")
_CUT_SHARE = re.compile(r"\d{1,3}")
_REMEDY = "a row as `perf stat -x,` writes it: 1234,,cycles,500000,100.00,,"
_LOCALE = "perf stat in the locale C: LC_ALL=C perf stat -x, ... or LC_ALL=C perf stat -j ..."
_SUMMARY = "summary"
_VALUE, _UNIT, _EVENT, _RUNTIME, _SHARE_OF_TIME = "counter-value", "unit", "event", "event-runtime", "pcnt-running"
_WHERE = ("interval", "cpu", "thread", "socket", "die", "core", "node")
"""Keys of perf's JSON."""
_FEWEST = 5
"""Cells from the value on."""


@dataclass(frozen=True)
class _Row:
    where: str
    """The interval, and the CPU, thread or group."""
    value: str
    unit: str
    event: str
    counted: str
    share: str


@dataclass
class _Event:
    line: int
    unit: str
    value: float = 0.0
    rows: int = 0
    counted_ns: float = 0.0
    enabled_ns: float = 0.0
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Where, and what perf says."""
    user_only: bool = False


def is_one(lines: Sequence[str]) -> bool:
    """Whether some row reads as one of perf's."""
    return any(_row(line) is not None for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """One for each event, and what is wrong."""
    events: dict[str, _Event] = {}
    faults = []
    intervals = any(_TIME.match(line) or '"interval"' in line for line in lines)
    for place, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#") or (intervals and _SUMMARY in line):
            continue
        row = _row(line)
        if isinstance(row, Fault):
            faults.append(Fault(place, row.what, row.remedy))
        elif row is None:
            faults.append(Fault(place, f'"{line.strip()[:60]}" is no row of perf stat', _REMEDY))
        elif row.event and (words := _add(events, place, row)):  # without an event: a further metric of the one above
            faults.append(Fault(place, words, _REMEDY))
    return [_reading(name, event) for name, event in events.items() if event.rows or event.refused], faults


def _row(line: str) -> _Row | Fault | None:
    """None for a line that is no row; a fault, whose line is not known here, for one that another locale has cut."""
    if line.lstrip().startswith("{"):
        return _json_row(line)
    return next((row for separator in SEPARATORS if (row := _csv_row(line, separator)) is not None), None)


def _json_row(line: str) -> _Row | None:
    try:
        found = json.loads(line)
        where = " ".join(str(found[key]) for key in _WHERE if key in found)
        return _Row(where, *(str(found[key]) for key in (_VALUE, _UNIT, _EVENT, _RUNTIME, _SHARE_OF_TIME)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _csv_row(line: str, separator: str) -> _Row | Fault | None:
    cells = [cell.strip() for cell in line.split(separator)]
    if len(cells) < _FEWEST:
        return None
    where = []
    if cells[0] == _SUMMARY or _TIME.fullmatch(cells[0]):
        where, cells = cells[:1], cells[1:]
    if _GROUP.fullmatch(cells[0]):
        where, cells = [*where, cells[0]], cells[2:]
    elif _ONE.fullmatch(cells[0]) and number(cells[0]) is None:
        where, cells = [*where, cells[0]], cells[1:]
    if len(cells) < _FEWEST or not (not cells[0] or _NOT.fullmatch(cells[0]) or number(_plain(cells[0])) is not None):
        return None
    value, unit, *rest = cells
    if separator == "," and unit and number(unit) is not None:
        return Fault(0, f'"{line.strip()[:60]}" has a decimal comma, which cuts its cells in two', _LOCALE)
    event, rest = _event(rest, separator)
    if rest and not _SPREAD.fullmatch(rest[0]) and number(rest[0]) is None:
        rest = rest[1:]  # the cgroup of -G
    if rest and _SPREAD.fullmatch(rest[0]):
        rest = rest[1:]
    if len(rest) < 2:
        return None
    counted, share, *_ = rest
    if separator == "," and _CUT_SHARE.fullmatch(share) and len(rest) > 2 and re.fullmatch(r"\d\d", rest[2]):
        return Fault(0, f'"{line.strip()[:60]}" has a decimal comma, which cuts its cells in two', _LOCALE)
    return _Row(" ".join(where), _plain(value), unit, event, counted, _plain(share))


def _plain(text: str) -> str:
    """A number with a decimal comma, where commas separate no cells."""
    return text.replace(",", ".") if re.fullmatch(r"\d+,\d+", text) else text


def _event(cells: Sequence[str], separator: str) -> tuple[str, list[str]]:
    """The name, whose terms commas separate too, as in cpu/event=0x2e,umask=0x41/, and what follows it."""
    name, *rest = cells
    while rest and name.count("/") % 2:
        name, rest = f"{name}{separator}{rest[0]}", rest[1:]
    return name, rest


def _add(events: dict[str, _Event], place: int, row: _Row) -> str | None:
    """Adds a row; what is wrong with it."""
    plain = _MODIFIERS.sub("", row.event)
    event = events.setdefault(plain, _Event(place, row.unit))
    event.user_only |= plain != row.event and "u" in row.event[len(plain) :] and "k" not in row.event[len(plain) :]
    if refused := _NOT.fullmatch(row.value):
        event.refused.append((row.where, f"not {refused[1]}"))
        return None
    value, counted_ns, share = number(row.value), number(row.counted), number(row.share)
    if value is None or counted_ns is None or share is None or share > 100.01:
        return (
            f'{row.event[:40]}: "{row.value[:40]}", "{row.counted[:40]}" and "{row.share[:40]}" '
            "are not a count, a time in ns and a percentage"
        )
    event.value += value
    event.rows += 1
    event.counted_ns += counted_ns
    event.enabled_ns += counted_ns * 100 / share if share else 0.0
    return None


def _reading(name: str, event: _Event) -> Reading:
    """Of the rows in which it was counted. None: of no row."""
    refused, all_rows = len(event.refused), event.rows + len(event.refused)
    if not event.rows:
        words = f"perf says: {event.refused[0][1]}" + (f", in {refused} rows" if refused > 1 else "")
        return Reading(name, None, event.unit, event.line, words)
    said = ["without the kernel's part"] if event.user_only else []
    if refused:
        said.append(f"{event.refused[0][1]} in {refused} of {all_rows} rows")
    if event.enabled_ns and event.counted_ns < 0.999 * event.enabled_ns:
        said.append(f"counted in {event.counted_ns / event.enabled_ns:.0%} of the time, and scaled by perf")
    gaps = frozenset(where for where, _ in event.refused)
    return Reading(name, event.value, event.unit, event.line, "; ".join(said), gaps)
