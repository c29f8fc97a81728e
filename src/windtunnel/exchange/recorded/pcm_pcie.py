"""`pcm-pcie -csv` (src/pcm-pcie.h of PCM): cache lines that PCIe devices read and wrote, by socket, in samples of a second.

With -e each socket has a row for all, one for misses and one for hits in the last-level cache. Values are sums over sockets and samples.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from windtunnel.exchange.recorded.pcm_samples import WholeSamples, whole_samples
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "pcm-pcie"
WRITES = ("ItoM", "ItoMCacheNear", "RFO", "PCIeItoM", "PCIeWiLF", "PCIeNSWr", "PCIeNSWrF")
"""Events of a device that writes memory: whole lines and parts of lines. Each processor has some of them (getWriteBw in src/pcm-pcie.h)."""
READS = ("PCIRdCur", "PCIeRdCur")
"""Events of a device that reads memory, by newer and older versions."""
TOTAL = "Total"
"""The filter of a row with all accesses; a row without a filter has all, too."""
_SOCKET = "Skt"
_FILTER = re.compile(r"\((Total|Miss|Hit)\)$")
_DELAY = re.compile(r"\s*Update every (\d+(?:\.\d+)?) seconds")
_REMEDY = "what `pcm-pcie -e -csv 1` printed"


def name_of(event: str, filtered: str) -> str:
    return f"{event} ({filtered})"


def is_one(lines: Sequence[str]) -> bool:
    return any(cells_of(line)[0] == _SOCKET for line in lines)


def whole(lines: Sequence[str]) -> WholeSamples:
    """The text without a last sample that was cut."""
    return whole_samples(lines, lambda line: cells_of(line)[0] == _SOCKET, _place_of, _REMEDY)


def seconds(lines: Sequence[str]) -> float:
    """The duration of all samples. Each has a head and a row for each socket; PCM prints the length of a sample on stderr, by default it is a
    second. Of a text without faults there is one length."""
    rows = Counter(
        cells[0] for line in lines if len(cells := cells_of(line)) > 1 and cells[0].isdigit() and _is_total(cells)
    )
    return max(rows.values(), default=0) * next(iter(_delays(lines)), 1.0)


def _delays(lines: Sequence[str]) -> dict[float, int]:
    """Lengths of samples, with the line that says so first."""
    told = [(float(match[1]), place) for place, line in enumerate(lines, start=1) if (match := _DELAY.match(line))]
    return {delay: place for delay, place in reversed(told) if delay}


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each event and filter, and the faults. Text before the first head is PCM's own."""
    names: list[str] = []
    by_name: dict[str, Reading] = {}
    text = whole(lines)
    faults = text.faults
    for place, line in enumerate(text.lines, start=1):
        cells = cells_of(line)
        if cells[0] == _SOCKET:
            names = cells
            if twice := [name for name, count in Counter(filter(None, cells)).items() if count > 1]:
                faults.append(Fault(place, f"the head of pcm-pcie names {twice[0][:40]} twice", _REMEDY))
        elif names and cells[0].isdigit():
            faults += _add(by_name, names, cells, place)
    if len(delays := _delays(lines)) > 1:
        faults.append(Fault(max(delays.values()), "recordings with samples of unlike lengths in one text", _REMEDY))
    if not by_name and not faults:
        faults.append(Fault(len(text.lines), "no socket follows the head of pcm-pcie", _REMEDY))
    return [replace(reading, words=text.caveat) for reading in by_name.values()], faults


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def _place_of(line: str) -> str | None:
    """What a row is of: its socket and its filter."""
    cells = cells_of(line)
    filtered = _FILTER.search(cells[-1])
    return f"{cells[0]} {filtered[1] if filtered else TOTAL}" if cells[0].isdigit() else None


def _is_total(cells: Sequence[str]) -> bool:
    filtered = _FILTER.search(cells[-1])
    return filtered is None or filtered[1] == TOTAL


def _add(by_name: dict[str, Reading], names: Sequence[str], cells: list[str], place: int) -> list[Fault]:
    """Adds a row of one socket; returns its faults."""
    filtered = _FILTER.search(cells[-1])
    if filtered:
        cells[-1] = cells[-1][: filtered.start()].strip()
    if len(cells) != len(names):
        return [Fault(place, f"{len(cells)} cells in a table of {len(names)}", _REMEDY)]
    faults = []
    for event, text in zip(names[1:], cells[1:], strict=True):
        value = number(text)
        if value is None:
            faults.append(Fault(place, f'{event[:40]}: "{text[:40]}" is not a count', _REMEDY))
            continue
        name = name_of(event, filtered[1] if filtered else TOTAL)
        before = by_name.get(name)
        unit = "bytes" if event.endswith("(B)") else "lines"
        by_name[name] = Reading(
            name, value + ((before.value or 0.0) if before else 0.0), unit, before.line if before else place
        )
    return faults
