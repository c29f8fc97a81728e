"""Preemption and steal on a worker's core while it was measured."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

MOST_LOST = 0.02
"""Above this share of lost time a result has no verdict: caches are not ours either then."""


@dataclass(frozen=True)
class Noise:
    """Shares of a sample's wall time; None where the kernel does not tell."""

    preempted: float | None
    """The worker was runnable and not running (schedstat run delay)."""
    steal: float | None
    """The hypervisor did not run that CPU (/proc/stat, in steps of 10 ms)."""

    @property
    def lost(self) -> float:
        return (self.preempted or 0.0) + (self.steal or 0.0)


def preempted_ns(pid: int, tid: int) -> int | None:
    """Since the thread's start. None where schedstat is missing."""
    try:
        return int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return None


def pinned_thread(pid: int, cpu: int) -> int:
    """The thread of a DPDK process that may run on `cpu` alone: its worker. Raises LookupError."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if f"\nCpus_allowed_list:\t{cpu}\n" in (task / "status").read_text():
            return int(task.name)
    raise LookupError(f"process {pid} has no thread pinned to CPU {cpu}")


def steal_s(cpu: int) -> float | None:
    """Steal of one CPU since boot, s."""
    for line in Path("/proc/stat").read_text().splitlines():
        fields = line.split()
        if fields[0] == f"cpu{cpu}":
            return int(fields[8]) / os.sysconf("SC_CLK_TCK") if len(fields) > 8 else None
    return None


class Steal:
    """Context manager: `share` is the steal share of a CPU's time between entry and exit."""

    def __init__(self, cpu: int):
        self._cpu = cpu
        self.share: float | None = None

    def __enter__(self) -> Self:
        self._before, self._start = steal_s(self._cpu), os.times().elapsed
        return self

    def __exit__(self, *_: object) -> None:
        after, seconds = steal_s(self._cpu), os.times().elapsed - self._start
        if self._before is not None and after is not None and seconds > 0:
            self.share = (after - self._before) / seconds
