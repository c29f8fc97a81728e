"""`pcm-pcie -csv` (src/pcm-pcie.h of PCM): cache lines that PCIe devices read and wrote, by socket, in samples of a second.

With -e each socket has a row for all, one for misses and one for hits in the last-level cache. Values are sums over sockets and samples.
"""

import re
from collections import Counter
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "pcm-pcie"
WRITES = ("ItoM", "ItoMCacheNear", "RFO", "PCIeItoM", "PCIeWiLF", "PCIeNSWr", "PCIeNSWrF")
"""Events of a device that writes memory: whole lines and parts of lines. Processors have some of them (getWriteBw in src/pcm-pcie.h)."""
TOTAL = "Total"
"""The filter of a row that has all, which rows without a filter have too."""
_SOCKET = "Skt"
_FILTER = re.compile(r"\((Total|Miss|Hit)\)$")
_DELAY = re.compile(r"\s*Update every (\d+(?:\.\d+)?) seconds")
_REMEDY = "what `pcm-pcie -e -csv 1` printed"


def name_of(event: str, filtered: str) -> str:
    return f"{event} ({filtered})"


def is_one(lines: Sequence[str]) -> bool:
    return any(cells_of(line)[0] == _SOCKET for line in lines)


def seconds(lines: Sequence[str]) -> float:
    """How long all samples took. Each has a row for each socket, and the head in front of it; PCM says on stderr how long one is, else it is a
    second."""
    rows = Counter(
        cells[0] for line in lines if len(cells := cells_of(line)) > 1 and cells[0].isdigit() and _is_total(cells)
    )
    said = [float(found[1]) for line in lines if (found := _DELAY.match(line)) and float(found[1])]
    return max(rows.values(), default=0) * (said[-1] if said else 1.0)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """One for each event and filter, and what is wrong. Text before the first head is PCM's own."""
    names: list[str] = []
    found: dict[str, Reading] = {}
    faults = []
    for place, line in enumerate(lines, start=1):
        cells = cells_of(line)
        if cells[0] == _SOCKET:
            names = cells
        elif names and cells[0].isdigit():
            faults += _add(found, names, cells, place)
    if not found and not faults:
        faults.append(Fault(len(lines), "no socket follows the head of pcm-pcie", _REMEDY))
    return list(found.values()), faults


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def _is_total(cells: Sequence[str]) -> bool:
    filtered = _FILTER.search(cells[-1])
    return filtered is None or filtered[1] == TOTAL


def _add(found: dict[str, Reading], names: Sequence[str], cells: list[str], place: int) -> list[Fault]:
    """A row of one socket; what is wrong with it."""
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
        before = found.get(name)
        unit = "bytes" if event.endswith("(B)") else "lines"
        found[name] = Reading(
            name, value + ((before.value or 0.0) if before else 0.0), unit, before.line if before else place
        )
    return faults
