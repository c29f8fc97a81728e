"""`ethtool -S INTERFACE`: counters of a NIC since its driver began, by the driver's names."""

import re
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "ethtool -S"
HEAD = "NIC statistics:"
SINCE = "since the driver began"
"""Words of a reading without an earlier text."""
_LINE = re.compile(r"\s+(\S.*):\s*(\S+)\s*")


def is_one(lines: Sequence[str]) -> bool:
    return any(line.strip() == HEAD for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """One for each counter: of several texts in one file what the last added to the first, and what is wrong."""
    first: dict[str, Reading] = {}
    last: dict[str, Reading] = {}
    faults = []
    began = heads = 0
    for place, line in enumerate(lines, start=1):
        if line.strip() == HEAD:
            began, heads = place, heads + 1
        elif began and line.strip():
            read = _LINE.fullmatch(line)
            value = number(read[2]) if read else None
            if read is None or value is None:
                faults.append(Fault(place, f'"{line.strip()[:60]}" is no counter', "as in      rx_prio0_pause: 12"))
                continue
            name = read[1]
            last[name] = Reading(name, value, "", place, SINCE)
            first.setdefault(name, last[name])
    if heads < 2:
        return list(last.values()), faults
    return [_added(first[name], reading, faults) for name, reading in last.items()], faults


def _added(before: Reading, after: Reading, faults: list[Fault]) -> Reading:
    if before.value is None or after.value is None or after.value < before.value:
        faults.append(
            Fault(after.line, f"{after.name} is less than in line {before.line}: it began anew", "texts of one load")
        )
    return Reading(after.name, max((after.value or 0.0) - (before.value or 0.0), 0.0), "", before.line)
