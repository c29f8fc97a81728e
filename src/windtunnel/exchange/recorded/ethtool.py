"""`ethtool -S INTERFACE`: counters of a NIC since its driver began, by the driver's names. `ethtool -I -a INTERFACE`: pause frames alone, by
the kernel's names.

ethtool indents each counter, and writes the name as long as the driver has it: cxgb4 fills its names up with spaces, octeontx2 ends them in a
colon.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from windtunnel.exchange.recorded.pause_counters import is_received
from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.source import Fault

TOOL = "ethtool -S"
HEAD, HEAD_OF_PAUSES, OTHER_HEAD = "NIC statistics:", "Statistics:", "Pause parameters for "
SINCE = "since the driver began"
"""Caveat of a reading without an earlier text."""
_ONE = "a file for each interface"
_TRAFFIC = re.compile(r"packets|frames|bytes|octets|pkts|ucast|mcast|bcast", re.IGNORECASE)
"""Matches names of counters that never fall while a driver is loaded. Others may be gauges, such as temperatures."""
_Text = dict[str, Reading]
"""The counters of one text by name."""


def is_one(lines: Sequence[str]) -> bool:
    heads = {line.strip() for line in lines}
    return HEAD in heads or (HEAD_OF_PAUSES in heads and any(line.startswith(OTHER_HEAD) for line in lines))


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each counter, and the faults. If a file has several texts, the reading is the last value minus the first; it has no value if
    a text lacks the counter, or if the counter or the driver was loaded again between two texts.
    """
    texts: dict[str, list[_Text]] = {}
    faults = []
    text: _Text | None = None
    interface = ""
    for place, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped in (HEAD, HEAD_OF_PAUSES):
            text = {}
            texts.setdefault(stripped, []).append(text)
        elif line.startswith(OTHER_HEAD):
            text = None
            if interface and stripped != interface:
                faults.append(Fault(place, f'"{stripped[:60]}" after "{interface[:60]}": another interface', _ONE))
            interface = interface or stripped
        elif text is not None and stripped:
            name, _, count = stripped.rpartition(":")
            name, value = name.rstrip(": \t"), number(count)
            if name and value is not None:
                faults += _add(text, Reading(name, value, "", place, SINCE))
            elif line[0].isspace():
                faults.append(Fault(place, f'"{stripped[:60]}" is no counter', "as in      rx_prio0_pause: 12"))
            else:
                text = None  # output of a shell, or of another tool
    for of_head in texts.values():
        faults += [fault for before, after in pairwise(of_head) for fault in _other_interface(before, after)]
    return [reading for of_head in texts.values() for reading in _added(of_head)], faults


def _add(text: _Text, reading: Reading) -> list[Fault]:
    """Adds a counter. Some drivers, as vmxnet3, have the same names for each queue: nobody can tell these apart, and they are not read."""
    before = text.setdefault(reading.name, reading)
    if before is reading:
        return []
    text[reading.name] = Reading(reading.name, None, "", before.line, "given several times in one text")
    if is_received(reading.name) is None:
        return []
    return [
        Fault(reading.line, f"{reading.name} is given twice, first in line {before.line}", "whole texts, with heads")
    ]


def _other_interface(before: _Text, after: _Text) -> list[Fault]:
    """The fault of a text that has other names. Queues that are added or removed change names in one direction alone."""
    gone, come = [name for name in before if name not in after], [name for name in after if name not in before]
    if not gone or not come:
        return []
    what = f"{come[0]} is not in the text before, which has {gone[0]}: another interface, or another driver"
    return [Fault(after[come[0]].line, what, _ONE)]


def _added(texts: Sequence[_Text]) -> list[Reading]:
    """What each counter has counted between the first and the last text, or since the driver began if there is one text."""
    if len(texts) == 1:
        return list(texts[0].values())
    anew = next((words for before, after in pairwise(texts) if (words := _began_anew(before, after))), "")
    names = dict.fromkeys(name for text in texts for name in text)
    return [_difference([text[name] for text in texts if name in text], len(texts), anew) for name in names]


def _difference(rows: Sequence[Reading], texts: int, anew: str) -> Reading:
    name, line = rows[0].name, rows[0].line
    if unread := next((row.words for row in rows if row.value is None), ""):
        return Reading(name, None, "", line, unread)
    if len(rows) < texts:
        return Reading(name, None, "", line, f"in {len(rows)} of {texts} texts")
    values = [row.value or 0.0 for row in rows]
    if fell := next(((before, after) for before, after in pairwise(values) if after < before), None):
        caveat = f"it fell from {fell[0]:.15g} to {fell[1]:.15g}: a gauge, or begun again"
        return Reading(name, None, "", line, caveat)
    return Reading(name, None if anew else values[-1] - values[0], "", line, anew)


def _began_anew(before: _Text, after: _Text) -> str:
    """Why the driver was reloaded between two texts: a counter fell, and there is no more traffic than before. Empty: it was not. A single value
    that falls is a gauge, or a queue that was recreated."""
    common = [name for name in after if name in before]
    fallen = [name for name in common if _counts(name) and (after[name].value or 0.0) < (before[name].value or 0.0)]
    traffic = [name for name in common if _TRAFFIC.search(name) and is_received(name) is None]
    more = sum((after[name].value or 0.0) - (before[name].value or 0.0) for name in traffic)
    if not fallen or more > 0:
        return ""
    lines = f"in line {after[fallen[0]].line} than in line {before[fallen[0]].line}"
    return f"the driver was loaded again between two texts: {fallen[0]} is less {lines}"


def _counts(name: str) -> bool:
    return bool(_TRAFFIC.search(name)) or is_received(name) is not None
