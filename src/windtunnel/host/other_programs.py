"""Programs that ran on some CPUs, from two snapshots of /proc: before and after a run.

A snapshot of a few hundred processes takes some milliseconds of a CPU, which a window would lose: it is taken before the measurement
and after it, never within. Processes are identified by name. A process that ended meanwhile is in the time of the one that waited for it.
"""

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

SELF = "windtunnel"
"""Name of this process among the others: it takes CPU time too."""

GUARD = "wt-guard"
"""Name of the process between a supervisor and its engine, which has the engine's time once that has ended (engine/run/guard.cc)."""

OTHER_RUN = "another windtunnel run"
"""Name for the engines and guards of other runs."""

NAME_LENGTH = 15
"""Characters to which the kernel truncates names."""

Key = tuple[int, int]
"""Process id, and the time at which it started, in ticks: ids are reused."""


@dataclass(frozen=True)
class Process:
    """A process as /proc shows it. Times are clock ticks, those of children that ended included."""

    name: str
    parent: int
    ticks: int
    cpu: int
    """The CPU on which it ran last."""


Snapshot = Mapping[Key, Process]


def take_snapshot(proc: Path = Path("/proc")) -> Snapshot:
    """All visible processes; in a container those of the container."""
    processes: dict[Key, Process] = {}
    for entry in os.listdir(proc):
        if not entry.isdigit():
            continue
        try:
            with open(f"{proc}/{entry}/stat", "rb") as file:
                text = file.read().decode(errors="replace")
        except OSError:  # it has ended
            continue
        key, process = parse(text)
        processes[key] = process
    return processes


def parse(text: str) -> tuple[Key, Process]:
    """One /proc/PID/stat (proc_pid_stat(5)). A name may hold spaces and parentheses."""
    head, _, rest = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = rest.split()
    parent, ticks, started, cpu = int(fields[1]), sum(map(int, fields[11:15])), int(fields[19]), int(fields[36])
    return (int(pid), started), Process(name.partition("-")[0] if parent == 2 else name, parent, ticks, cpu)


def ran(before: Snapshot, after: Snapshot, cpus: Collection[int], own: int, engine: str) -> dict[str, float]:
    """Name -> seconds of CPU time between two snapshots, the largest first, of programs that ran on one of these CPUs in a snapshot. Engines
    and guards below the process `own` are left out."""
    grown = {key: process.ticks - (before[key].ticks if key in before else 0) for key, process in after.items()}
    alive = {pid: (pid, started) for pid, started in after}
    parents = {pid: process.parent for (pid, _), process in before.items()}
    parents_now = {pid: process.parent for (pid, _), process in after.items()}
    for (pid, started), process in before.items():
        if (pid, started) not in after:  # what it had before is in the time of the one that waited for it
            waited = parents.get(pid, 0)
            while waited and waited not in alive:
                waited = parents.get(waited, 0)
            if waited:
                grown[alive[waited]] -= process.ticks
    ours = (engine[:NAME_LENGTH], GUARD)
    seconds: Counter[str] = Counter()
    for key, process in after.items():
        seen_on = {process.cpu, before[key].cpu if key in before else process.cpu}
        above = (process.parent, parents_now.get(process.parent))
        if own in above and process.name in ours:
            continue
        if grown[key] > 0 and seen_on & set(cpus):
            name = OTHER_RUN if process.name in ours else process.name
            seconds[SELF if key[0] == own else name] += grown[key]
    ticks_a_second = os.sysconf("SC_CLK_TCK")
    return {name: ticks / ticks_a_second for name, ticks in seconds.most_common()}
