"""Rows of `perf stat` in its three formats: `-j` (JSON FORMAT in perf-stat(1)), `-x SEPARATOR` (CSV FORMAT), and the table for people.

A row has value, unit, event, time for which the event had a counter, share of the time, then further metrics. With -I a time stands in front,
with -A a CPU, with --per-thread a thread, with --per-socket, --per-die, --per-cluster, --per-cache, --per-node and --per-core an id and a number
of CPUs, which percore events do not have; with -G a cgroup follows the event, with -r the spread of the runs (tools/perf/util/stat-display.c).

The locale is that of the user. The table has its thousands separators, unless perf was given --no-big-num, and its decimal mark: a count has no
decimals, what has a unit may have two. The other formats have the decimal mark alone.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windtunnel.exchange.recorded.readings import number
from windtunnel.exchange.source import Fault

SEPARATORS = (",", ";", "\t", "|", "@", "^", "~", "!", ":")
TABLE = re.compile(r"\s*Performance counter stats for |#\s+time\s.*\bcounts\b")
"""Matches the beginning of the table for people; the second form is that of -I."""
LOCALE = "perf stat -j, or the locale C: LC_ALL=C perf stat -x, ..."
_SPACE = "\u00a0\u202f"
_MARKS = rf".,'\u2019{_SPACE}"
"""Decimal marks and thousands separators of locales."""
_TIME = re.compile(r"\d{1,12}[.,]\d{9}", re.ASCII)
_GROUP = re.compile(r"[SDN]\d+(?:-[A-Z]+\d+)*", re.ASCII)
_ONE = re.compile(r"CPU\d+|.+-\d+", re.ASCII)
_NOT = re.compile(r"<not (?:counted|supported)>")
_SPREAD = re.compile(r"(?:\d{1,9}[.,]\d{2}|-?nan)%", re.ASCII)
_CUT_SHARE = re.compile(r"\d{1,3}", re.ASCII)
_CUT_JSON = re.compile(r'(" : \d+),(\d+)(?=\s*[,}])', re.ASCII)
_VALUE, _UNIT, _EVENT, _RUNTIME, _SHARE = "counter-value", "unit", "event", "event-runtime", "pcnt-running"
_WHERE = ("cpu", "thread", "socket", "die", "cluster", "cache", "core", "node", "cgroup")
"""Keys of perf's JSON."""
_METRIC = ("metric-value", "metric-unit")
_FEWEST = 5
"""Cells from the value on."""
_MOST_OF_TABLE = 1000
"""Characters of a line of the table."""
_OF_TABLE = re.compile(
    r"[ \t]*(?:(?P<time>\d{1,12}[.,]\d{9})[ \t]+)?"
    r"(?:(?P<group>[SDN]\d+(?:-[A-Z]+\d+)*)[ \t]+(?:\d+[ \t]+)?(?=[\d<])|(?P<one>CPU\d+|\S.*?-\d+)[ \t]+(?=[\d<]))?"
    rf"(?P<value><not (?:counted|supported)>|\d[\d{_MARKS}]*)[ \t]+(?P<rest>[A-Za-z_].*)",
    re.ASCII,
)
_NO_EVENT = re.compile(r"seconds (?:time elapsed|user|sys)\b|\+- [\d.,]+ seconds time elapsed")
_NO_ROW = re.compile(rf"[ \t]*[\d{_MARKS}]+ (?:\([+-]|\+-)")
"""The times of --table, and the elapsed time of -r."""
_COUNT = re.compile(r"\s*(?:(?:CPU\d+|[SDN]\d+(?:-[A-Z]+\d+)*)\s+)?[\d<]", re.ASCII)
"""Matches a line that should have a count."""
_VERBOSE = re.compile(r"\S+: \d+ \d+ \d+\s*$|Using CPUID |Control descriptor ")
"""Matches further lines of -v."""
_OF_RUNS = re.compile(r"\( *\+- *[\d.,]+% *\)")
_OF_TIME = re.compile(r"\((\d{1,3}[.,]\d\d)%\)\s*$", re.ASCII)
_UNITS = re.compile(r"(?:msec|usec|nsec|ns|Joules|Watts|Cycles|Bytes|[KMG]i?B|[KMG]?Hz|C|%)", re.IGNORECASE)
_UNIT_OR_EVENT = "cycles"
_EVENT_OF_PMU = re.compile(r"\w+/[^/]+/[ukhHGIpPSDWeb]*")
_TWO_DECIMALS = re.compile(r"(.*\d)([.,])(\d\d)", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One count, as perf wrote it; `event` is empty for a further metric of the row above."""

    time: str
    """The interval; empty without -I."""
    where: str
    """The CPU, thread or group."""
    value: str
    unit: str
    event: str
    counted: str
    """Time for which the event had a counter, in ns; the table has its share of the time alone."""
    share: str


def is_table(lines: Sequence[str]) -> bool:
    """Whether the text has the table for people."""
    return any(TABLE.match(line) for line in lines)


def rows(lines: Sequence[str]) -> Iterator[tuple[int, Row | Fault | None]]:
    """The row of each line that should have one, with the line's number; a fault if another locale has split it, None if it is no row."""
    table = is_table(lines)
    for place, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#") or _VERBOSE.match(line):
            continue
        row = row_of(line, table)
        if row is None and table and not _COUNT.match(line):
            continue  # a head, a hint of perf, or output of the program that it ran
        if row is None and table and (_NO_ROW.match(line) or _NO_EVENT.search(line)):
            continue
        yield place, row


def row_of(line: str, table: bool = False) -> Row | Fault | None:
    """The row of a line. `table`: the text has the table for people. The line of a fault is not known here."""
    if line.lstrip().startswith("{"):
        return _json_row(line)
    if table and len(line) <= _MOST_OF_TABLE and (table_row := _table_row(line)):
        return table_row
    likely = (separator for separator in SEPARATORS if line.count(separator) >= _FEWEST - 1)
    return next((row for separator in likely if (row := _csv_row(line, separator)) is not None), None)


def _json_row(line: str) -> Row | None:
    try:
        document = json.loads(_CUT_JSON.sub(r"\1.\2", line))
        if _EVENT not in document and any(key in document for key in _METRIC):
            return Row("", "", "", "", "", "", "")
        where = " ".join(str(document[key]) for key in _WHERE if key in document)
        rest = (str(document[key]) for key in (_UNIT, _EVENT, _RUNTIME, _SHARE))
        return Row(str(document.get("interval", "")), where, _plain(str(document[_VALUE])), *rest)
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None


def _table_row(line: str) -> Row | None:
    match = _OF_TABLE.fullmatch(line.rstrip())
    if match is None or _NO_EVENT.match(match["rest"]):
        return None
    of_time = _OF_TIME.search(match["rest"])
    share = _plain(of_time[1]) if of_time else "100.00"
    tokens = _OF_TIME.sub("", _OF_RUNS.sub("", match["rest"].partition("#")[0])).split()
    unit = tokens.pop(0) if _begin_with_unit(tokens) else ""
    if len(tokens) > 1 and tokens[1].startswith("["):
        tokens[:2] = [" ".join(tokens[:2])]  # the PMU
    if len(tokens) not in (1, 2):
        return None
    event, *behind = tokens  # a cgroup
    where = " ".join(filter(None, (match["group"], match["one"], *behind)))
    return Row(match["time"] or "", where, _ungrouped(match["value"]), unit, event, share, share)


def _begin_with_unit(tokens: Sequence[str]) -> bool:
    """Whether a unit stands before the event. "cycles" is one only before an event of a PMU: another word behind it is a cgroup or a PMU."""
    if len(tokens) < 2 or not _UNITS.fullmatch(tokens[0]):
        return False
    return tokens[0].lower() != _UNIT_OR_EVENT or _EVENT_OF_PMU.fullmatch(tokens[1]) is not None


def _ungrouped(text: str) -> str:
    """A number without thousands separators, and with a point: two decimals or none. It stays as it is if it is none."""
    if _NOT.fullmatch(text):
        return text
    cut = _TWO_DECIMALS.fullmatch(text)
    whole, decimals = (cut[1], cut[3]) if cut else (text, "")
    groups = re.split(rf"[{_MARKS}]", whole)
    marks = {mark for mark in whole if mark in "'\u2019.," + _SPACE}
    first, *further = groups
    fits = len(marks) <= 1 and not (cut and cut[2] in marks) and len(first) <= 3
    lengths = {len(group) for group in further[:-1]} - ({2, 3} if marks == {","} else {3})  # two in India
    if further and not (fits and len(further[-1]) == 3 and not lengths):
        return text
    return "".join(groups) + (f".{decimals}" if decimals else "")


def _csv_row(line: str, separator: str) -> Row | Fault | None:
    cells = [cell.strip() for cell in line.split(separator)]
    time = ""
    if cells[0] == "summary":
        cells = cells[1:]
    elif _TIME.fullmatch(cells[0]):
        time, *cells = cells
    if len(cells) < _FEWEST:
        return None
    splits: tuple[tuple[str, list[str]], ...]
    if _GROUP.fullmatch(cells[0]):
        splits = ((cells[0], cells[2:]), (cells[0], cells[1:]))
    elif _ONE.fullmatch(cells[0]) and number(cells[0]) is None:
        splits = ((cells[0], cells[1:]),)
    else:
        splits = (("", cells),)
    candidates = (_counted(time, where, rest, line, separator) for where, rest in splits)
    return next((row for row in candidates if row is not None), None)


def _counted(time: str, where: str, cells: list[str], line: str, separator: str) -> Row | Fault | None:
    """The row whose cells, from the value on, are `cells`."""
    if len(cells) < _FEWEST:
        return None
    if cells[0] and not _NOT.fullmatch(cells[0]) and number(_plain(cells[0])) is None:
        return None
    value, unit, *rest = cells
    cut = Fault(0, f'"{line.strip()[:60]}" has a decimal comma, which cuts its cells in two', LOCALE)
    if separator == "," and unit and number(unit) is not None:
        return cut
    event, rest = _event(rest, separator)
    if number(event) is not None:
        return None
    behind = []
    if rest and not _SPREAD.fullmatch(rest[0]) and number(rest[0]) is None:
        behind, rest = rest[:1], rest[1:]  # the cgroup of -G
    if rest and _SPREAD.fullmatch(rest[0]):
        rest = rest[1:]
    if len(rest) < 2:
        return None
    counted, share, *more = rest
    if separator == "," and _CUT_SHARE.fullmatch(share) and more and re.fullmatch(r"\d\d", more[0]):
        return cut
    return Row(time, " ".join(filter(None, (where, *behind))), _plain(value), unit, event, counted, _plain(share))


def _plain(text: str) -> str:
    """A number with a decimal comma, where commas separate no cells."""
    return text.replace(",", ".") if re.fullmatch(r"\d+,\d+", text, re.ASCII) else text


def _event(cells: Sequence[str], separator: str) -> tuple[str, list[str]]:
    """The name, whose terms commas separate too, as in cpu/event=0x2e,umask=0x41/, and what follows it."""
    name, *rest = cells
    while rest and name.count("/") % 2:
        name, rest = f"{name}{separator}{rest[0]}", rest[1:]
    return name, rest
