"""A batch job of best effort, whose work is counted: `windtunnel-batch`, sysbench's primes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pvcc.kept_process import ROOM, Kept
from windtunnel_sharing.native import find_native


@dataclass(frozen=True)
class Done:
    """What the job had done at a moment (CLOCK_MONOTONIC)."""

    at_ns: int
    events: int
    cpu_ns: int


class Batch:
    """The running job; afterwards `done`, ascending in time."""

    def __init__(self, log: Path, *, cpu: int | None, limit: int = 10000, window_ms: int = 100):
        """`limit`: primes up to it are an event."""
        self._kept = Kept([find_native("windtunnel-batch", ROOM), str(limit), str(window_ms)], log=log, cpu=cpu)
        self.pid = self._kept.pid  # its one thread, too
        self.done: list[Done] = []

    def stop(self) -> None:
        for line in self._kept.stop().splitlines():
            said = json.loads(line)
            self.done.append(Done(said["at_ns"], said["events"], said["cpu_ns"]))

    def between(self, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Events and CPU time in ns within a span of time, by straight lines between its words. Raises ValueError before `stop`, and
        for a span in which it did not run."""
        import numpy as np

        if not self.done or self.done[0].at_ns > start_ns or self.done[-1].at_ns < end_ns:
            raise ValueError("the batch job did not run for all of this time")
        at = [d.at_ns for d in self.done]

        def grown(values: list[int]) -> float:
            begun, ended = np.interp([start_ns, end_ns], at, values)
            return float(ended - begun)

        return grown([d.events for d in self.done]), grown([d.cpu_ns for d in self.done])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
