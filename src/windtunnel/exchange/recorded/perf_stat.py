"""`perf stat -x,` (CSV FORMAT in perf-stat(1)): value, unit, event, time for which it had a counter, share of the time, metric, its unit.

With -I a time stands in front, with -A a CPU, with --per-thread a thread, with --per-socket, --per-die, --per-node and --per-core an id and
a number of CPUs. Values of one event are added up. perf has scaled them where counters were shared.
"""

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
_REMEDY = "a row as `perf stat -x,` writes it: 1234,,cycles,500000,100.00,,"
_FEWEST = 5
"""Cells from the value on."""


@dataclass
class _Event:
    line: int
    unit: str
    value: float = 0.0
    counted_ns: float = 0.0
    enabled_ns: float = 0.0
    refused: list[str] = field(default_factory=list)
    user_only: bool = False


def is_one(lines: Sequence[str]) -> bool:
    """Whether some row reads as one of perf's."""
    return any(_cells(line) is not None for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """One for each event, and what is wrong."""
    events: dict[str, _Event] = {}
    faults = []
    for place, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = _cells(line)
        if cells is None:
            faults.append(Fault(place, f'"{line.strip()[:60]}" is no row of perf stat', _REMEDY))
        elif cells[2] and (words := _add(events, place, cells)):  # without an event: a further metric of the one above
            faults.append(Fault(place, words, _REMEDY))
    return [_reading(name, event) for name, event in events.items()], faults


def _cells(line: str) -> list[str] | None:
    """From the value on; None where the line is no row."""
    for separator in SEPARATORS:
        cells = [cell.strip() for cell in line.split(separator)]
        if len(cells) < _FEWEST:
            continue
        if _TIME.fullmatch(cells[0]):
            cells = cells[1:]
        if _GROUP.fullmatch(cells[0]):
            cells = cells[2:]
        elif _ONE.fullmatch(cells[0]) and number(cells[0]) is None:
            cells = cells[1:]
        if len(cells) >= _FEWEST and (not cells[0] or _NOT.fullmatch(cells[0]) or number(cells[0]) is not None):
            return cells
    return None


def _add(events: dict[str, _Event], place: int, cells: Sequence[str]) -> str | None:
    """Adds a row; what is wrong with it."""
    text, unit, name, counted, percent = cells[:_FEWEST]
    plain = _MODIFIERS.sub("", name)
    event = events.setdefault(plain, _Event(place, unit))
    event.user_only |= plain != name and "u" in name[len(plain) :] and "k" not in name[len(plain) :]
    if refused := _NOT.fullmatch(text):
        event.refused.append(f"not {refused[1]}")
        return None
    value, counted_ns, share = number(text), number(counted), number(percent)
    if value is None or counted_ns is None or share is None or share > 100.01:
        return f'{name[:40]}: "{text[:40]}", "{counted[:40]}" and "{percent[:40]}" are not a count, a time in ns and a percentage'
    event.value += value
    event.counted_ns += counted_ns
    event.enabled_ns += counted_ns * 100 / share if share else 0.0
    return None


def _reading(name: str, event: _Event) -> Reading:
    if event.refused:
        words = f"perf says: {event.refused[0]}"
        return Reading(
            name, None, event.unit, event.line, words + (f", in {n} rows" if (n := len(event.refused)) > 1 else "")
        )
    said = ["without the kernel's part"] if event.user_only else []
    if event.enabled_ns and event.counted_ns < 0.999 * event.enabled_ns:
        said.append(f"counted in {event.counted_ns / event.enabled_ns:.0%} of the time, and scaled by perf")
    return Reading(name, event.value, event.unit, event.line, "; ".join(said))
