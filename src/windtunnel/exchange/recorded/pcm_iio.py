"""`pcm-iio -csv` (src/pcm-iio.cpp of PCM): what crosses each part of an IIO stack, that is each PCIe root port, and what the IOMMU does, a second.

A sample has a head and a row for each part. PCM scales each counter to a second: values are means over the samples. The counters of a whole
stack stand in the row of its first part, so the other rows are shorter than the head. -root-port adds the address of each part's root port.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

from windtunnel.exchange.recorded.pcm_samples import WholeSamples, whole_samples
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "pcm-iio"
BYTES = ("IB read", "IB write", "OB read", "OB write")
"""Bytes a second: what devices read of memory and wrote to it, what CPUs read of devices and wrote to them."""
LOOKUPS, HITS, MISSES = "IOTLB Lookup", "IOTLB Hit", "IOTLB Miss"
"""Of the IOMMU's cache of translations. Skylake and Cascade Lake count hits, later processors lookups."""
_SOCKET, _PORT, _NAME, _PART = "Socket", "Root Port", "Name", "Part"
_SOCKET_NUMBER = re.compile(rf"{_SOCKET} ?\d+")
_NO_PORT = "00:00.0"
_REMEDY = "what `pcm-iio -csv -root-port 1` printed"


@dataclass(frozen=True)
class Row:
    """What one part of a stack counted in a sample, by the names of the head."""

    line: int
    socket: str
    stack: str
    part: str
    port: str
    """Bus, device and function of the root port, as in "3a:00.0". Empty: not asked for, or the part has none."""
    counts: dict[str, float]

    @property
    def place(self) -> str:
        return " ".join(filter(None, (self.socket, self.stack, self.part)))


def is_one(lines: Sequence[str]) -> bool:
    return any(_begin(_cells(line)) is not None for line in lines)


def whole(lines: Sequence[str]) -> WholeSamples:
    """The text without a last sample that was cut."""
    return whole_samples(lines, lambda line: _begin(_cells(line)) is not None, _place_of, _REMEDY)


def samples(lines: Sequence[str]) -> int:
    """The number of samples: each has a head."""
    return sum(_begin(_cells(line)) is not None for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each event, with its counts by part, and the faults. Text before the first head is PCM's own."""
    sums: dict[str, dict[str, float]] = {}
    first: dict[str, int] = {}
    text = whole(lines)
    faults = text.faults
    for row in rows(text.lines):
        if isinstance(row, Fault):
            faults.append(row)
            continue
        for name, count in row.counts.items():
            by_place = sums.setdefault(name, {})
            by_place[row.place] = by_place.get(row.place, 0.0) + count
            first.setdefault(name, row.line)
    if not sums and not faults:
        faults.append(Fault(len(text.lines), "no stack follows the head of pcm-iio", _REMEDY))
    number_of_samples = samples(text.lines)
    found = [_reading(name, by_place, number_of_samples, first[name]) for name, by_place in sums.items()]
    return [replace(reading, words=text.caveat) for reading in found], faults


def rows(lines: Sequence[str]) -> Iterator[Row | Fault]:
    """The rows of all samples, and the faults."""
    names: list[str] = []
    begin = 0
    for place, line in enumerate(lines, start=1):
        cells = _cells(line)
        if (begins := _begin(cells)) is not None:
            begin, names = begins, cells
            if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
                yield Fault(place, f"the head of pcm-iio names {twice[0][:40]} twice", _REMEDY)
        elif names and len(cells) > begin and cells[begin].startswith(_SOCKET):
            yield _row(names, cells, begin, place)


def _row(names: Sequence[str], cells: Sequence[str], begin: int, line: int) -> Row | Fault:
    of_head = dict(zip(names[begin:], cells[begin:], strict=False))
    if len(cells) > len(names) or _PART not in of_head:
        return Fault(line, f"{len(cells)} cells in a table of {len(names)}", _REMEDY)
    socket, stack, part = (of_head.pop(name) for name in (_SOCKET, _NAME, _PART))
    port = of_head.pop(_PORT, "")
    counts = {}
    for name, text in of_head.items():
        count = number(text)
        if count is None:
            return Fault(line, f'{name[:40]}: "{text[:40]}" is not a count', _REMEDY)
        counts[name.removesuffix(" (bytes)")] = count
    return Row(line, socket, stack, part, "" if port == _NO_PORT else port, counts)


def _reading(name: str, by_place: dict[str, float], number_of_samples: int, line: int) -> Reading:
    means = {place: total / number_of_samples for place, total in by_place.items()}
    return Reading(name, sum(means.values()), "bytes/s" if name in BYTES else "/s", line, counts=means)


def _place_of(line: str) -> str | None:
    """What a row is of: its cells from the socket to the first count."""
    of_row = [*dropwhile(lambda cell: not _SOCKET_NUMBER.fullmatch(cell), _cells(line))]
    return " ".join(takewhile(lambda cell: number(cell) is None, of_row)) or None


def _begin(cells: Sequence[str]) -> int | None:
    """The place of the first cell of a head; before it newer versions have date and time. None: it is no head."""
    if not {_SOCKET, _NAME, _PART} <= set(cells):
        return None
    return cells.index(_SOCKET)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]
