"""`ethtool -S INTERFACE`: counters of a NIC since its driver began, by the driver's names. `ethtool -I -a INTERFACE`: pause frames alone, by
the kernel's names.

ethtool indents each counter, and writes the name as long as the driver has it: cxgb4 fills its names up with spaces, octeontx2 ends them in a
colon.
"""

import re
from collections.abc import Iterable, Sequence

from windtunnel.exchange.recorded.pause_counters import is_received
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "ethtool -S"
HEAD, HEAD_OF_PAUSES, OTHER_HEAD = "NIC statistics:", "Statistics:", "Pause parameters for "
SINCE = "since the driver began"
"""Caveat of a reading without an earlier text."""
_TRAFFIC = re.compile(r"packets|frames|bytes|octets|pkts|ucast|mcast|bcast", re.IGNORECASE)
"""Matches names of counters that never fall while a driver is loaded. Others may be gauges, such as temperatures."""


def is_one(lines: Sequence[str]) -> bool:
    heads = {line.strip() for line in lines}
    return HEAD in heads or (HEAD_OF_PAUSES in heads and any(line.startswith(OTHER_HEAD) for line in lines))


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each counter, and the faults. If a file has several texts, the reading is the last value minus the first.

    The driver was reloaded if a counter fell and the last text has no more traffic than the first. A single value that falls is a gauge, or a
    queue that was recreated: it is not read.
    """
    first: dict[str, Reading] = {}
    last: dict[str, Reading] = {}
    faults = []
    began = heads = 0
    for place, line in enumerate(lines, start=1):
        text = line.strip()
        if text in (HEAD, HEAD_OF_PAUSES):
            began, heads = place, heads + 1
        elif began and text:
            name, _, count = text.rpartition(":")
            name, value = name.rstrip(": \t"), number(count)
            if name and value is not None:
                last[name] = Reading(name, value, "", place, SINCE)
                first.setdefault(name, last[name])
            elif line[0].isspace():
                faults.append(Fault(place, f'"{text[:60]}" is no counter', "as in      rx_prio0_pause: 12"))
            else:
                began = 0  # output of a shell, or of another tool
    if heads < 2:
        return list(last.values()), faults
    fallen = [reading for name, reading in last.items() if _counts(name) and _fell(first[name], reading)]
    if fallen and _traffic(last.values()) <= _traffic(first.values()):
        before = first[fallen[0].name]
        what = f"{before.name} is less than in line {before.line}: it began anew"
        faults.append(Fault(fallen[0].line, what, "texts of one load"))
    return [_added(first[name], reading) for name, reading in last.items()], faults


def _counts(name: str) -> bool:
    return bool(_TRAFFIC.search(name)) or is_received(name) is not None


def _traffic(counters: Iterable[Reading]) -> float:
    return sum(
        counter.value or 0.0
        for counter in counters
        if _TRAFFIC.search(counter.name) and is_received(counter.name) is None
    )


def _fell(before: Reading, after: Reading) -> bool:
    return (after.value or 0.0) < (before.value or 0.0)


def _added(before: Reading, after: Reading) -> Reading:
    if _fell(before, after):
        caveat = f"it fell from {before.value:g} to {after.value:g}: a gauge, or begun anew alone"
        return Reading(after.name, None, "", before.line, caveat)
    return Reading(after.name, (after.value or 0.0) - (before.value or 0.0), "", before.line)
