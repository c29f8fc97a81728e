"""`ethtool -S INTERFACE`: counters of a NIC since its driver began, by the driver's names."""

import re
from collections.abc import Iterable, Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "ethtool -S"
HEAD = "NIC statistics:"
SINCE = "since the driver began"
"""Words of a reading without an earlier text."""
_TRAFFIC = re.compile(r"packets|frames|bytes|octets|pkts|ucast|mcast|bcast", re.IGNORECASE)
"""In names of what never falls while a driver is loaded. Others may be gauges, as temperatures are."""
_LINE = re.compile(r"\s+(\S.*):\s*(\S+)\s*")


def is_one(lines: Sequence[str]) -> bool:
    return any(line.strip() == HEAD for line in lines)


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """One for each counter: of several texts in one file what the last added to the first, and what is wrong.

    The driver was loaded anew if less traffic stands in the last one than in the first. A single value that falls is a gauge, or a queue that
    was made anew: it is not read.
    """
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
    fallen = [reading for name, reading in last.items() if _fell(first[name], reading)]
    if fallen and _traffic(last.values()) <= _traffic(first.values()):
        before = first[fallen[0].name]
        words = f"{before.name} is less than in line {before.line}: it began anew"
        faults.append(Fault(fallen[0].line, words, "texts of one load"))
    return [_added(first[name], reading) for name, reading in last.items()], faults


def _traffic(found: Iterable[Reading]) -> float:
    return sum(each.value or 0.0 for each in found if _TRAFFIC.search(each.name))


def _fell(before: Reading, after: Reading) -> bool:
    return (after.value or 0.0) < (before.value or 0.0)


def _added(before: Reading, after: Reading) -> Reading:
    if _fell(before, after):
        words = f"it fell from {before.value:g} to {after.value:g}: a gauge, or begun anew alone"
        return Reading(after.name, None, "", before.line, words)
    return Reading(after.name, (after.value or 0.0) - (before.value or 0.0), "", before.line)
