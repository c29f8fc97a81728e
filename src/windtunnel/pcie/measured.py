"""Values of the hardware counters of PCIe links, from the output of the tools that read them. Without such output nothing was measured.

Two tools are read. `perf iostat` (uncore IIO counters): megabytes of each PCIe root port, all four directions. `pcm-pcie -B -csv` (PCM):
bytes of all devices of each socket in a sample, counted in cache lines; it does not count the bytes that the CPU writes to registers.
"""

from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.source import MAX_FILE_BYTES
from windtunnel.text_file import read_text

FILE = "pcie-counters.txt"
"""Such output in a run directory, taken during the run: `show` and the report put it beside the estimate."""
SYSFS = "sys/bus/event_source/devices"
_MB = 1e6
_IOSTAT = ("Inbound Read(MB)", "Inbound Write(MB)", "Outbound Read(MB)", "Outbound Write(MB)")
_PCM = ("PCIe Rd (B)", "PCIe Wr (B)")
_REMEDY = "what `perf iostat -- sleep 10` or `pcm-pcie -B -csv 1` printed"


@dataclass(frozen=True)
class Measured:
    """Bytes a second of all devices that the counters see, by tool; None: that tool does not count it."""

    tool: str
    inbound_read: float | None
    inbound_write: float | None
    outbound_read: float | None
    outbound_write: float | None


def read_measured(file: Path) -> Measured:
    """Raises UserError, with file and line, for any other text."""
    lines = read_text(file, MAX_FILE_BYTES, _REMEDY).splitlines()
    for number, line in enumerate(lines, start=1):
        if (places := [line.find(head) for head in _IOSTAT]) == sorted(places) and -1 not in places:
            return _iostat(file, lines, number)
        if set(_PCM) <= set(_cells(line)):
            return _pcm(file, lines, number)
    raise UserError(f"{file}: output of neither `perf iostat` nor `pcm-pcie -B -csv`", remedy=_REMEDY)


def measured_with_run(run: Path) -> Measured | None:
    """From `FILE` in a run directory. None: nothing was measured."""
    file = run / FILE
    return read_measured(file) if file.is_file() else None


def counters_there(root: Path = Path("/")) -> bool:
    """Whether this host has the counters that both tools read."""
    return any((root / SYSFS).glob("uncore_iio_*"))


def _iostat(file: Path, lines: list[str], head: int) -> Measured:
    """Sums over the root ports; the elapsed time follows them. Of several tables the mean."""
    totals, ports, elapsed = [0.0] * len(_IOSTAT), 0, 0.0
    for number, line in enumerate(lines[head:], start=head + 1):
        words = line.split()
        if line.rstrip().endswith("seconds time elapsed"):
            elapsed += _number(file, number, words[0])
        elif words and ":" in words[0]:
            if len(words) != len(_IOSTAT) + 1:
                raise UserError(
                    f"{file}:{number}: {len(words) - 1} values of root port {words[0]}, not {len(_IOSTAT)}",
                    remedy=_REMEDY,
                )
            totals = [total + _number(file, number, word) for total, word in zip(totals, words[1:], strict=True)]
            ports += 1
    if not ports:
        raise UserError(f"{file}:{head}: no root port follows", remedy="the whole output of `perf iostat`")
    if not elapsed:
        raise UserError(f"{file}: no line with the seconds that elapsed", remedy="the whole output of `perf iostat`")
    return Measured("perf iostat", *(total * _MB / elapsed for total in totals))


def _pcm(file: Path, lines: list[str], head: int) -> Measured:
    """The mean over samples of a second, each the sum over sockets; the head stands again before every sample."""
    names = _cells(lines[head - 1])
    read, write = (names.index(name) for name in _PCM)
    samples, sockets, totals = 1, 0, [0.0, 0.0]
    for number, line in enumerate(lines[head:], start=head + 1):
        cells = _cells(line)
        if cells == names:
            samples += 1
        elif cells[0].isdigit():
            sockets += 1
            if len(cells) != len(names):
                raise UserError(f"{file}:{number}: {len(cells)} cells in a table of {len(names)}", remedy=_REMEDY)
            totals = [
                total + _number(file, number, cells[column])
                for total, column in zip(totals, (read, write), strict=True)
            ]
    if not sockets:
        raise UserError(f"{file}:{head}: no socket follows", remedy=_REMEDY)
    return Measured("pcm-pcie", totals[0] / samples, totals[1] / samples, None, None)


def _cells(line: str) -> list[str]:
    """PCM quotes nothing."""
    return [cell.strip() for cell in line.split(",")]


def _number(file: Path, line: int, text: str) -> float:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e18:
        raise UserError(f'{file}:{line}: "{text[:40]}" is not a count', remedy=_REMEDY)
    return value
