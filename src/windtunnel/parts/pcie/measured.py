"""Values of the hardware counters of PCIe links, from the output of the tools that read them. Without such output nothing is measured.

Two tools are read. `perf iostat` (uncore IIO counters): megabytes of each PCIe root port, all four directions. `pcm-pcie -B -csv` (PCM):
bytes of all devices of each socket in a sample, counted in cache lines; it does not count the bytes that the CPU writes to registers.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.recorded import pcm_pcie
from windtunnel.exchange.recorded.other_tools import other_tool
from windtunnel.exchange.recorded.readings import number
from windtunnel.exchange.source import read_counters

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
LEAST_S = 1e-3
"""In which counters can be read twice."""
_REMEDY = "what `perf iostat -- sleep 10` or `pcm-pcie -B -csv 1` printed"


@dataclass(frozen=True)
class Measured:
    """Bytes a second of all devices that the counters cover; None: that tool does not count it."""

    tool: str
    inbound_read: float | None
    inbound_write: float | None
    outbound_read: float | None
    outbound_write: float | None


def is_measured(lines: Sequence[str]) -> bool:
    """Whether one of these tools wrote the text, with bytes in it."""
    return _iostat_head(lines) is not None or any(set(_PCM) <= set(pcm_pcie.cells_of(line)) for line in lines)


def read_measured(file: Path, follow: bool = True) -> Measured:
    """The values in a file. Raises UserError, with file and line, for any other text. `follow`: a symbolic link is followed."""
    lines = read_counters(file, _REMEDY, follow).text.split("\n")
    if (head := _iostat_head(lines)) is not None:
        return _iostat(file, lines, head)
    if is_measured(lines):
        return _pcm(file, lines)
    if pcm_pcie.is_one(lines) and not any("(B)" in line for line in lines):
        raise UserError(f"{file}: pcm-pcie without -B: lines of a cache, and no bytes", remedy="pcm-pcie -B -csv 1")
    what, remedy = other_tool(lines) or ("output of neither `perf iostat` nor `pcm-pcie -B -csv`", _REMEDY)
    raise UserError(f"{file}: {what}", remedy=remedy)


def _iostat_head(lines: Sequence[str]) -> int | None:
    """The number of the head's line; None: there is none."""
    for place, line in enumerate(lines, start=1):
        places = [line.find(head) for head in _IOSTAT]
        if places == sorted(places) and -1 not in places:
            return place
    return None


def measured_with_run(run: Path) -> Measured | None:
    """Reads `FILE` in a run directory. None: nothing was measured. Raises UserError as `read_measured`, and for a link."""
    file = run / FILE
    return read_measured(file, follow=False) if os.path.lexists(file) else None


def counters_there(root: Path = Path("/")) -> bool:
    """Whether this host has the counters that both tools read."""
    return any((root / SYSFS).glob("uncore_iio_*"))


def _iostat(file: Path, lines: list[str], head: int) -> Measured:
    """Sums over the root ports; the elapsed time follows them. Several tables are averaged. With -I each row begins with the time since the
    start, and nothing follows.

    perf writes times with nine decimals, which tells the locale's decimal mark.
    """
    totals, ports, elapsed, last = [0.0] * len(_IOSTAT), 0, 0.0, 0.0
    decimal = "," if any(_COMMA.match(line) for line in lines) else "."
    separator = match[1] if (match := _CSV_HEAD.match(lines[head - 1])) else None
    for place, line in enumerate(lines[head:], start=head + 1):
        cells = line.rstrip(f"{separator} \t\r").split(separator) if separator else line.split()
        if line.rstrip().endswith("seconds time elapsed"):
            elapsed += _number(file, place, cells[0], decimal)
            continue
        time = 0.0
        if len(cells) > 1 and _TIME.fullmatch(cells[0].strip()):
            time, cells = float(cells[0].replace(",", ".")), cells[1:]
        if not cells or ":" not in cells[0]:
            continue
        if len(cells) != len(_IOSTAT) + 1:
            raise UserError(
                f"{file}:{place}: {len(cells) - 1} values of root port {cells[0]}, not {len(_IOSTAT)}",
                remedy=_REMEDY,
            )
        totals = [total + _number(file, place, word, decimal) for total, word in zip(totals, cells[1:], strict=True)]
        ports, last = ports + 1, max(last, time)
    if not ports:
        raise UserError(f"{file}:{head}: no root port follows", remedy="the whole output of `perf iostat`")
    if not (elapsed or last):
        raise UserError(
            f"{file}: no line with the seconds that elapsed",
            remedy="the whole output of `perf iostat -- sleep 10`, or one with -I, without -x if there is no -I",
        )
    seconds = elapsed or last
    if seconds < LEAST_S:
        raise UserError(f"{file}: {seconds:g} seconds elapsed", remedy="the output of a second or more")
    return Measured("perf iostat", *(total * _MB / seconds for total in totals))


def _pcm(file: Path, lines: list[str]) -> Measured:
    """The mean over the time of all samples, each the sum over sockets, without the rows of -e for misses and hits."""
    counted, faults = pcm_pcie.readings(lines)
    if faults:
        raise UserError(f"{file}:{faults[0].line}: {faults[0].what}", remedy=_REMEDY)
    totals = {reading.name: reading.value for reading in counted}
    seconds = pcm_pcie.seconds(lines)
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
