"""Values of the hardware counters of PCIe links, from the output of the tools that read them. Without such output nothing is measured.

Three tools are read. `perf iostat` (uncore IIO counters): megabytes of each PCIe root bus, all four directions. `pcm-iio -csv -root-port`
(PCM): bytes a second of each root port, all four directions. `pcm-pcie -B -csv` (PCM): bytes of all devices of each socket in a sample, counted in
cache lines; it does not count the bytes that the CPU writes to registers.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import pcm_iio, pcm_pcie
from windtunnel.exchange.recorded.other_tools import other_tool
from windtunnel.exchange.recorded.readings import number
from windtunnel.exchange.source import Fault, read_counters
from windtunnel.runs.monitor import monitored_texts

FILE = "pcie-counters.txt"
"""Name of such output in a run directory, taken during the run: `show` and the report show it beside the estimate."""
SYSFS = "sys/bus/event_source/devices"
_MB = 1e6
_IOSTAT = ("Inbound Read(MB)", "Inbound Write(MB)", "Outbound Read(MB)", "Outbound Write(MB)")
_PCM = ("PCIe Rd (B)", "PCIe Wr (B)")
_COMMA = re.compile(r"\s*\d+,\d+\s+seconds time elapsed|\s*\d+,\d{9}[^\d,.]")
_TIME = re.compile(r"\d{1,12}[.,]\d{9}", re.ASCII)
_CSV_HEAD = re.compile(r"\s*(?:time.)?port([,;\t|])")
_GROUPED = r"\d{{1,3}}({0}\d{{3}})+({1}\d+)?"
MOST = 1e18
_MOST_UNLIKE = 1.8
"""Times as long as another may one of perf's intervals be, which are alike but for a shorter last one: it is twice as long if one is missing."""
LEAST_S = 1e-3
"""In which counters can be read twice."""
_REMEDY = "what `perf iostat -- sleep 10`, `pcm-iio -csv -root-port 1` or `pcm-pcie -B -csv 1` printed"


@dataclass(frozen=True)
class RootPort:
    """Bytes a second of the devices below one root port, or below one root bus: that is how `perf iostat` counts."""

    name: str
    """ "0000:3a" is a root bus, "3a:00.0" a root port, and "Socket0 IIO Stack 1 - PCIe0 Part0 (1st x16/x8/x4)" a part whose port PCM did not print."""
    inbound_read: float
    inbound_write: float
    outbound_read: float
    outbound_write: float

    def is_above(self, upstream: Sequence[str]) -> bool:
        """Whether a device is below it. `upstream`: the root bus of the device and the bridges above it, as `NicLink` has them."""
        return self.name in upstream or f"0000:{self.name}" in upstream


@dataclass(frozen=True)
class Measured:
    """Bytes a second of all devices that the counters cover; None: that tool does not count it."""

    tool: str
    inbound_read: float | None
    inbound_write: float | None
    outbound_read: float | None
    outbound_write: float | None
    ports: tuple[RootPort, ...] = ()
    """Its parts, if the tool counts each root port."""


def is_measured(lines: Sequence[str]) -> bool:
    """Whether one of these tools wrote the text, with bytes in it."""
    has_bytes = any(set(_PCM) <= set(pcm_pcie.cells_of(line)) for line in lines)
    return _iostat_head(lines) is not None or pcm_iio.is_one(lines) or has_bytes


def read_measured(file: Path, follow: bool = True) -> Measured:
    """The values in a file. Raises UserError, with file and line, for any other text. `follow`: a symbolic link is followed."""
    lines = read_counters(file, _REMEDY, follow).text.split("\n")
    if (head := _iostat_head(lines)) is not None:
        return _iostat(file, lines, head)
    if pcm_iio.is_one(lines):
        return _iio(file, lines)
    if is_measured(lines):
        return _pcm(file, lines)
    if pcm_pcie.is_one(lines) and not any("(B)" in line for line in lines):
        raise UserError(f"{file}: pcm-pcie without -B: lines of a cache, and no bytes", remedy="pcm-pcie -B -csv 1")
    what, remedy = other_tool(lines) or ("no output of `perf iostat`, `pcm-iio -csv` or `pcm-pcie -B -csv`", _REMEDY)
    raise UserError(f"{file}: {what}", remedy=remedy)


def _iostat_head(lines: Sequence[str]) -> int | None:
    """The number of the head's line; None: there is none."""
    for place, line in enumerate(lines, start=1):
        places = [line.find(head) for head in _IOSTAT]
        if places == sorted(places) and -1 not in places:
            return place
    return None


def measured_with_run(run: Path) -> Measured | None:
    """Reads `FILE` in a run directory; without it the first text of the run's monitor that has bytes of PCIe links. None: nothing was measured.
    Raises UserError as `read_measured`, and for a link."""
    file = run / FILE
    if os.path.lexists(file):
        return read_measured(file, follow=False)
    for text in monitored_texts(run):
        with contextlib.suppress(UserError):  # a text without bytes, or of a tool that the end of the run has cut off
            return read_measured(text, follow=False)
    return None


def counters_there(root: Path = Path("/")) -> bool:
    """Whether this host has the counters that these tools read."""
    return any((root / SYSFS).glob("uncore_iio_*"))


@dataclass
class _Table:
    """The rows of one interval, or of all of a run without -I."""

    line: int
    ends_at: float
    """Seconds since the start with -I, else 0."""
    elapsed: float = 0.0
    """Seconds, from the line below the rows; 0 if there is none."""
    is_cut: bool = False
    """Its last row was."""
    ports: dict[str, list[float]] = field(default_factory=dict)


def _iostat(file: Path, lines: list[str], head: int) -> Measured:
    """Sums over the tables; each port is a root bus. The elapsed time follows a table. With -I each row begins with the time since the start,
    and nothing follows: what was cut within the last interval is left out."""
    tables = _iostat_tables(file, lines, head)
    if not tables:
        raise UserError(f"{file}:{head}: no root port follows", remedy="the whole output of `perf iostat`")
    first, last = tables[0], tables[-1]
    if not (first.elapsed or first.ends_at) or not (last.elapsed or last.ends_at):
        raise UserError(
            f"{file}: no line with the seconds that elapsed",
            remedy="the whole output of `perf iostat -- sleep 10`, or one with -I, without -x if there is no -I",
        )
    _check_times(file, tables)
    if last.is_cut or last.ports.keys() < first.ports.keys():
        tables.pop()
    for table in tables:
        if table.ports.keys() != first.ports.keys():
            what = "the interval that begins here has other root ports than the first one"
            raise UserError(f"{file}:{table.line}: {what}", remedy=_REMEDY)
    seconds = sum(table.elapsed for table in tables) or tables[-1].ends_at
    if seconds < LEAST_S:
        raise UserError(f"{file}: {seconds:g} seconds elapsed", remedy="the output of a second or more")
    rows = [
        RootPort(port, *(sum(column) * _MB / seconds for column in zip(*(t.ports[port] for t in tables), strict=True)))
        for port in first.ports
    ]
    return _of_ports("perf iostat", rows)


def _check_times(file: Path, tables: Sequence[_Table]) -> None:
    """Raises UserError unless the tables are of one recording, from its beginning. With -I perf says when each interval ended: nothing else tells
    that rows are missing, or that the last interval is whole."""
    ends = [table.ends_at for table in tables]
    durations = [after - before for before, after in pairwise([0.0, *ends])]
    whole = durations[:-1] if len(durations) > 2 else durations  # the last one ends with the program
    usual = min((duration for duration in whole if duration > 0), default=0.0)
    for place, table in enumerate(tables):
        what = ""
        if (ends[place] > 0) != (ends[0] > 0):
            what = "the text has tables of a recording with -I and others"
        elif ends[place] and durations[place] <= 0:
            what = "the interval that begins here is of another recording than the one above"
        elif ends[place] and len(tables) == 1:
            what = "one interval alone: whether it is whole cannot be told"
        elif ends[place] and durations[place] > _MOST_UNLIKE * usual:
            what = "the interval that begins here is longer than others: rows before it are missing"
        if what:
            raise UserError(
                f"{file}:{table.line}: {what}", remedy="the whole output of one `perf iostat`, two intervals or more"
            )


def _iostat_tables(file: Path, lines: list[str], head: int) -> list[_Table]:
    """perf writes times with nine decimals, which tells the locale's decimal mark. Raises UserError for a row that is none."""
    decimal = "," if any(_COMMA.match(line) for line in lines) else "."
    separator = match[1] if (match := _CSV_HEAD.match(lines[head - 1])) else None
    tables: list[_Table] = []
    for place, line in enumerate(lines[head:], start=head + 1):
        cells = line.rstrip(f"{separator} \t\r").split(separator) if separator else line.split()
        if line.rstrip().endswith("seconds time elapsed"):
            if tables:
                tables[-1].elapsed += _number(file, place, cells[0], decimal)
            continue
        time = 0.0
        if len(cells) > 1 and _TIME.fullmatch(cells[0].strip()):
            time, cells = float(cells[0].replace(",", ".")), cells[1:]
        if not cells or ":" not in cells[0]:
            continue
        if not tables or tables[-1].elapsed or time != tables[-1].ends_at:
            tables.append(_Table(place, time))
        if place == len(lines) and time:
            tables[-1].is_cut = True  # nothing ends the line
            continue
        if len(cells) != len(_IOSTAT) + 1:
            raise UserError(
                f"{file}:{place}: {len(cells) - 1} values of root port {cells[0]}, not {len(_IOSTAT)}",
                remedy=_REMEDY,
            )
        if cells[0] in tables[-1].ports:
            raise UserError(f"{file}:{place}: root port {cells[0]} stands twice in one table", remedy=_REMEDY)
        tables[-1].ports[cells[0]] = [_number(file, place, cell, decimal) for cell in cells[1:]]
    return tables


def _iio(file: Path, lines: list[str]) -> Measured:
    """The mean over all samples. Skylake's pcm-iio has four parts to a stack, later ones eight: those without a device count nothing."""
    totals: dict[str, list[float]] = {}
    text = pcm_iio.whole(lines)
    for row in (*text.faults, *pcm_iio.rows(text.lines)):
        if isinstance(row, Fault):
            raise UserError(f"{file}:{row.line}: {row.what}", remedy=row.remedy)
        if missing := [name for name in pcm_iio.BYTES if name not in row.counts]:
            raise UserError(f"{file}:{row.line}: {row.place} has no {missing[0]}", remedy=_REMEDY)
        before = totals.get(name := row.port or row.place, [0.0] * len(pcm_iio.BYTES))
        totals[name] = [total + row.counts[event] for total, event in zip(before, pcm_iio.BYTES, strict=True)]
    if not totals:
        raise UserError(f"{file}: no stack follows the head of pcm-iio", remedy=_REMEDY)
    samples = pcm_iio.samples(text.lines)
    rows = [RootPort(name, *(total / samples for total in of_port)) for name, of_port in totals.items()]
    return _of_ports("pcm-iio", [row for row in rows if any(_directions(row))])


def _of_ports(tool: str, ports: Sequence[RootPort]) -> Measured:
    """The ports with their sums."""
    sums = RootPort("", *(sum(_directions(port)[place] for port in ports) for place in range(len(_IOSTAT))))
    return Measured(tool, *_directions(sums), tuple(ports))


def _directions(port: RootPort) -> tuple[float, float, float, float]:
    return (port.inbound_read, port.inbound_write, port.outbound_read, port.outbound_write)


def _pcm(file: Path, lines: list[str]) -> Measured:
    """The mean over the time of all samples, each the sum over sockets, without the rows of -e for misses and hits."""
    counted, faults = pcm_pcie.readings(lines)
    if faults:
        raise UserError(f"{file}:{faults[0].line}: {faults[0].what}", remedy=_REMEDY)
    totals = {reading.name: reading.value for reading in counted}
    if missing := [name for name in _PCM if pcm_pcie.name_of(name, pcm_pcie.TOTAL) not in totals]:
        raise UserError(f"{file}: no row of pcm-pcie has {missing[0]} of all accesses", remedy=_REMEDY)
    seconds = pcm_pcie.seconds(pcm_pcie.whole(lines).lines)
    read, write = ((totals[pcm_pcie.name_of(name, pcm_pcie.TOTAL)] or 0.0) / seconds for name in _PCM)
    return Measured("pcm-pcie", read, write, None, None)


def _number(file: Path, line: int, text: str, decimal: str) -> float:
    """The number in a cell. `decimal`: the locale's mark; the other one may separate thousands."""
    groups = "." if decimal == "," else ","
    plain = (
        text.replace(groups, "") if re.fullmatch(_GROUPED.format(re.escape(groups), re.escape(decimal)), text) else text
    )
    count = number(plain.replace(decimal, "."))
    if count is None or count >= MOST:
        raise UserError(f'{file}:{line}: "{text[:40]}" is not a count', remedy=_REMEDY)
    return count
