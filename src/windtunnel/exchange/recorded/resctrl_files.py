"""Files of resctrl twice: bytes a second that all groups of the host moved to and from memory, and their lines in the last-level cache.

A line is the name of a file and its value, as in "mon_data/mon_L3_00/mbm_total_bytes 123".
"""

from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading, number
from windtunnel.exchange.recorded.snapshots import Snapshot, snapshots_of
from windtunnel.exchange.source import Fault

TOOL, PLACE = "resctrl", "/sys/fs/resctrl"
TOTAL = "mbm_total_bytes"
_COUNTERS = (TOTAL, "mbm_local_bytes")
_REMEDY = "a file as `windtunnel run --monitor memory` writes it"


def is_one(lines: Sequence[str]) -> bool:
    return bool(snapshots_of(lines, PLACE))


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each counter, bytes a second, summed over files that have a value at both moments; and the faults."""
    snapshots = snapshots_of(lines, PLACE)
    if len(snapshots) < 2 or snapshots[-1].seconds <= snapshots[0].seconds:
        return [], [Fault(len(lines), "one snapshot of resctrl: what passed until then is not known", _REMEDY)]
    before, after = _values(snapshots[0]), _values(snapshots[-1])
    seconds = snapshots[-1].seconds - snapshots[0].seconds
    counted = []
    for counter in _COUNTERS:
        pairs = [(before[name], value) for name, value in after.items() if name.endswith(counter) and name in before]
        if any(now < then for then, now in pairs):
            counted.append(Reading(counter, None, "bytes/s", snapshots[-1].line, "it fell: its counter was reset"))
        elif pairs:
            rate = sum(now - then for then, now in pairs) / seconds
            counted.append(Reading(counter, rate, "bytes/s", snapshots[-1].line))
    if not counted:
        return [], [Fault(snapshots[-1].line, "no counter of resctrl is in both snapshots", _REMEDY)]
    return counted, []


def _values(snapshot: Snapshot) -> dict[str, float]:
    """By file. The kernel says "Unavailable" or "Error" in place of a value."""
    pairs = (line.rpartition(" ") for line in snapshot.lines)
    return {name: value for name, _, text in pairs if name and (value := number(text)) is not None}
