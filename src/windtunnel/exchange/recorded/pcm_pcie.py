"""`pcm-pcie -csv` (src/pcm-pcie.h of PCM): cache lines that PCIe devices read and wrote, by socket, in samples of a second.

With -e each socket has a row for all, one for misses and one for hits in the last-level cache. Values are sums over sockets and samples.
"""

import re
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "pcm-pcie"
READS, WRITES = ("PCIRdCur",), ("ItoM", "ItoMCacheNear", "RFO")
"""Events of a device that reads memory, and of one that writes: whole lines and parts of lines. Processors have some of them."""
TOTAL = "Total"
"""The filter of a row that has all, which rows without a filter have too."""
_SOCKET = "Skt"
_FILTER = re.compile(r"\((Total|Miss|Hit)\)$")
_REMEDY = "what `pcm-pcie -e -csv 1` printed"


def name_of(event: str, filtered: str) -> str:
    return f"{event} ({filtered})"


def is_one(lines: Sequence[str]) -> bool:
    return samples(lines) > 0


def samples(lines: Sequence[str]) -> int:
    """The head stands in front of each."""
    return sum(cells_of(line)[0] == _SOCKET for line in lines)


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
