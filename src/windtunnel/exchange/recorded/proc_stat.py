"""/proc/stat twice (proc_stat(5)): the share of the time between for which each CPU ran something."""

import re
from collections.abc import Sequence

from windtunnel.exchange.recorded.readings import Reading
from windtunnel.exchange.recorded.snapshots import Snapshot, snapshots_of
from windtunnel.exchange.source import Fault

TOOL = PLACE = "/proc/stat"
IDLE, IOWAIT, STEAL = 3, 4, 7
"""Places of times in which the CPU ran nothing of this host."""
_TIMES = 8
"""Those that are no part of others: guest times are in user and nice."""
_COUNT = re.compile(r"[0-9]{1,20}")
"""Matches what the kernel may count: 64 bits."""
_REMEDY = "a file as `windtunnel run --monitor cpus` writes it"


def is_one(lines: Sequence[str]) -> bool:
    return bool(snapshots_of(lines, PLACE))


def name_of(cpu: int) -> str:
    return f"busy share of CPU {cpu}"


def readings(lines: Sequence[str]) -> tuple[list[Reading], list[Fault]]:
    """A reading for each CPU, between 0 and 1, and the faults. A CPU that was not there at one of both moments has none."""
    snapshots = snapshots_of(lines, PLACE)
    if len(snapshots) < 2:
        return [], [Fault(len(lines), "one snapshot of /proc/stat: what passed until then is not known", _REMEDY)]
    faults: list[Fault] = []
    before, after = (_times(snapshot, faults) for snapshot in (snapshots[0], snapshots[-1]))
    shares = []
    for cpu, (line, times) in after.items():
        if cpu not in before:
            continue
        grown = [max(now - then, 0) for now, then in zip(times, before[cpu][1], strict=True)]
        if total := sum(grown):
            ran = total - grown[IDLE] - grown[IOWAIT] - grown[STEAL]
            shares.append(Reading(name_of(cpu), ran / total, "", line))
    return shares, faults


def _times(snapshot: Snapshot, faults: list[Fault]) -> dict[int, tuple[int, list[int]]]:
    """By CPU: the line, and the times in ticks."""
    times = {}
    for line, text in enumerate(snapshot.lines, start=snapshot.line + 1):
        name, *cells = text.split() or [""]
        number = name.removeprefix("cpu")
        if name == number or not _COUNT.fullmatch(number):
            continue
        ticks = [int(cell) for cell in cells[:_TIMES] if _COUNT.fullmatch(cell)]
        if len(ticks) < _TIMES:
            faults.append(Fault(line, f'"{text[:60]}" has not {_TIMES} times', _REMEDY))
        else:
            times[int(number)] = (line, ticks)
    return times
