"""Counts of `perf stat` from the rows of all its formats (perf_rows.py).

Values of one event are added up over intervals, CPUs, threads, groups and the PMUs of a hybrid processor; perf has scaled them where counters
were shared. --summary repeats the intervals: of an event with intervals, rows without a time are left out.

A modifier names a part of an event. At one place the event without a modifier counts, else `:u` and `:k` are added.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean

from windtunnel.exchange.recorded.perf_rows import SEPARATORS, Row, is_table, row_of, rows
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "perf stat"
_MODIFIERS = re.compile(r":[ukhHGIpPSDWeb]+$")
_OF_PMU = re.compile(r"(cpu(?:_\w+)?|armv\d\w*)/([A-Za-z_][\w.:-]*)/([ukhHGIpPSDWeb]*)|(\S+) \[(\w+)\]")
"""An event of a processor with the name of its PMU, as hybrid processors have several."""
_NOT = re.compile(r"<not (counted|supported)>")
_PARTS = {"u": "without the kernel's part", "k": "without the part of user space"}
_HEADS = (re.compile(r"# started on "), re.compile(r"\s*Performance counter stats for "))
"""Of these, perf prints one in each run."""
_SEVERAL_RUNS = "of several runs in one text"
_REMEDY = "a row as `perf stat -j` or `perf stat -x,` writes it: 1234,,cycles,500000,100.00,,"


@dataclass
class _Event:
    line: int
    unit: str = ""
    counts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By interval, CPU, thread, group and PMU, then by part. Several of one part: groups of events name one event again, or
    there are several runs."""
    rows: int = 0
    counted_ns: float = 0.0
    enabled_ns: float = 0.0
    refused: list[str] = field(default_factory=list)
    """Texts of perf in place of a count."""


def is_one(lines: Sequence[str]) -> bool:
    """Whether some line is a row of perf."""
    table = is_table(lines)
    return any(row_of(line, table) is not None for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each event, and the faults."""
    events: dict[str, _Event] = {}
    faults = []
    numbered_rows = list(rows(lines))
    timed = {_named(row.event)[0] for _, row in numbered_rows if isinstance(row, Row) and row.time}
    for place, row in numbered_rows:
        if isinstance(row, Fault):
            faults.append(Fault(place, row.what, row.remedy))
        elif row is None:
            faults.append(Fault(place, f'"{lines[place - 1].strip()[:60]}" is no row of perf stat', _REMEDY))
        elif not row.event or (not row.time and _named(row.event)[0] in timed):
            continue  # a further metric of the row above, or the summary
        elif what := _add(events, place, row):
            faults.append(Fault(place, what, _REMEDY))
    found = [_reading(name, event) for name, event in events.items() if event.rows or event.refused]
    caveats = _caveats(lines, numbered_rows)
    return [replace(each, words="; ".join(filter(None, (each.words, caveats[each.name])))) for each in found], faults


def _caveats(lines: Sequence[str], numbered_rows: Sequence[tuple[int, Row | Fault | None]]) -> dict[str, str]:
    """Of each event, what the text as a whole says against its reading: it is of several runs, or was cut. perf ends each row, and writes each event
    in each interval."""
    of_event = [(place, _named(row.event)[0], row.time) for place, row in numbered_rows if isinstance(row, Row)]
    intervals: dict[str, set[str]] = {}
    for _, name, time in of_event:
        own = intervals.setdefault(name, set())
        if time:
            own.add(time)
    most = max(map(len, intervals.values()), default=0)
    runs = _SEVERAL_RUNS if _has_several_runs(lines, [time for *_, time in of_event]) else ""
    caveats = {
        name: [f"in {len(own)} of {most} intervals"] if len(own) < most else [] for name, own in intervals.items()
    }
    if of_event and of_event[-1][0] == len(lines):
        caveats[of_event[-1][1]].append("nothing ends its last row, which may be cut")
    return {name: "; ".join(filter(None, [*own, runs])) for name, own in caveats.items()}


def _has_several_runs(lines: Sequence[str], times: Sequence[str]) -> bool:
    """Whether a head is there again, or the time of an interval is less than that before it."""
    heads = max(sum(1 for line in lines if head.match(line)) for head in _HEADS)
    ends = [number(time.replace(",", ".")) or 0.0 for time in times if time]
    return heads > 1 or any(after < before for before, after in pairwise(ends))


def _add(events: dict[str, _Event], place: int, row: Row) -> str | None:
    """Adds a row; returns its fault, or None."""
    name, pmu, part = _named(row.event)
    event = events.setdefault(name, _Event(place))
    where = " ".join(filter(None, (row.time, row.where, pmu)))
    if refused := _NOT.fullmatch(row.value):
        event.refused.append(f"not {refused[1]}")
        return None
    value, counted_ns, share = number(row.value), number(row.counted), number(row.share)
    if value is None or counted_ns is None or share is None or share > 100.01:
        return (
            f'{row.event[:40]}: "{row.value[:40]}", "{row.counted[:40]}" and "{row.share[:40]}" '
            "are not a count, a time in ns and a percentage"
        )
    if event.rows and row.unit != event.unit:
        return f'{row.event[:40]}: its unit is "{row.unit[:20]}", and "{event.unit[:20]}" in a row before'
    event.unit = row.unit
    event.counts.setdefault(where, {}).setdefault(part, []).append(value)
    event.rows += 1
    event.counted_ns += counted_ns
    event.enabled_ns += counted_ns * 100 / share if share else 0.0
    return None


def _named(event: str) -> tuple[str, str, str]:
    """The name without the processor's PMU and without modifiers, the PMU if there are several, and the part of the event that the modifiers
    select: empty for the whole."""
    pmu, plain, behind = "", event, ""
    if match := _OF_PMU.fullmatch(event):
        pmu, plain, behind = match[1] or match[5], match[2] or match[4], match[3] or ""
    name = _MODIFIERS.sub("", plain)
    selected = set(behind + plain[len(name) :]) & set("ukhGHI")
    if selected >= {"u", "k"}:
        selected -= {"u", "k", "h"}
    if selected >= {"G", "H"}:
        selected -= {"G", "H"}
    return name, "" if pmu == "cpu" else pmu, "".join(sorted(selected))


def _counted(parts: Mapping[str, list[float]]) -> tuple[str, float] | None:
    """What was counted at one place: the part, empty for the whole, and its count. None: of parts that may overlap."""
    counts = {part: fmean(values) for part, values in parts.items()}
    if "" in counts:
        return "", counts[""]
    if counts.keys() == {"u", "k"}:
        return "", sum(counts.values())
    return next(iter(counts.items())) if len(counts) == 1 else None


def _reading(name: str, event: _Event) -> Reading:
    """The reading of an event over the rows in which it was counted; its value is None if there is no such row."""
    refused, all_rows = len(event.refused), event.rows + len(event.refused)
    if not event.rows:
        caveat = f"perf says: {event.refused[0]}" + (f", in {refused} rows" if refused > 1 else "")
        return Reading(name, None, event.unit, event.line, caveat)
    counts: dict[str, float] = {}
    caveats: dict[str, None] = {}
    for where, parts in event.counts.items():
        counted = _counted(parts)
        if counted is None:
            caveat = f"counted as {' and '.join(f':{part}' for part in parts)}, which may overlap and are not added"
            return Reading(name, None, event.unit, event.line, caveat)
        part, count = counted
        if part:
            caveats[_PARTS.get(part, f"counted as :{part} alone")] = None
        counts[" ".join(filter(None, (where, part and f":{part}")))] = count
    said = list(caveats)
    if refused:
        said.append(f"{event.refused[0]} in {refused} of {all_rows} rows")
    if event.enabled_ns and event.counted_ns < 0.999 * event.enabled_ns:
        said.append(f"counted in {event.counted_ns / event.enabled_ns:.0%} of the time, and scaled by perf")
    most = max(len(values) for parts in event.counts.values() for values in parts.values())
    if most > 1:
        said.append(f"the mean of {most} counts at one place: of several groups of events, or of several runs")
    return Reading(name, sum(counts.values()), event.unit, event.line, "; ".join(said), counts)


__all__ = ["SEPARATORS", "TOOL", "is_one", "readings"]
