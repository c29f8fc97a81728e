"""A batch job of best effort, whose work is counted: `windtunnel-batch`, which has sysbench's primes, or sysbench itself."""

import contextlib
import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pvcc.kept_process import ROOM, Kept
from windtunnel.api.errors import UserError
from windtunnel_sharing.native import find_native
from windtunnel_sharing.threads import cpu_ns, start, threads_of

BATCH, SYSBENCH = "windtunnel-batch", "sysbench"
LIMIT = 10000
"""Primes up to it are an event, of both."""


@dataclass(frozen=True)
class Done:
    """What the job had done at a moment (CLOCK_MONOTONIC)."""

    at_ns: int
    events: float
    cpu_ns: int


class BestEffort:
    """The running job, and afterwards what it had done, ascending in time."""

    tids: list[int]
    window_s: float
    """It says so often what it has done."""

    def __init__(self, kept: Kept):
        self._kept = kept
        self.done: list[Done] = []

    def stop(self) -> None:
        self._kept.stop()

    def between(self, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Events and CPU time in ns within a span of time, by straight lines between its words. Raises ValueError before `stop`, and
        for a span in which it did not run."""
        import numpy as np

        if not self.done or self.done[0].at_ns > start_ns or self.done[-1].at_ns < end_ns:
            raise ValueError("the batch job did not run for all of this time")
        at = [d.at_ns for d in self.done]

        def grown(values: Sequence[float]) -> float:
            begun, ended = np.interp([start_ns, end_ns], at, values)
            return float(ended - begun)

        return grown([d.events for d in self.done]), grown([d.cpu_ns for d in self.done])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Batch(BestEffort):
    """`windtunnel-batch`."""

    def __init__(self, log: Path, *, cpu: int | None, limit: int = LIMIT, window_ms: int = 100):
        """`limit`: primes up to it are an event."""
        super().__init__(Kept([find_native("windtunnel-batch", ROOM), str(limit), str(window_ms)], log=log, cpu=cpu))
        self.tids = [self._kept.pid]
        self.window_s = window_ms / 1000

    def stop(self) -> None:
        for line in self._kept.stop().splitlines():
            said = json.loads(line)
            self.done.append(Done(said["at_ns"], said["events"], said["cpu_ns"]))


class Sysbench(BestEffort):
    """`sysbench cpu` with one thread. It says once a second how many events a second there were since it last said so."""

    window_s = 1.0

    def __init__(self, log: Path, *, cpu: int | None):
        """Raises UserError if it is not installed, or does not begin to work."""
        words = [f"--cpu-max-prime={LIMIT}", "--threads=1", "--time=0", f"--report-interval={self.window_s:.0f}", "run"]
        super().__init__(Kept([find_sysbench(), "cpu", *words], log=log, cpu=cpu))
        for line in self._kept.out:
            if line.startswith(b"Threads started"):
                break
        else:
            super().stop()
            raise UserError(f"sysbench ended without a word of its work: {self._kept.tail()}")
        self.tids = threads_of(self._kept.pid)
        self.done.append(self._now(0.0))
        self._reader = threading.Thread(target=self._read, name="reads sysbench", daemon=True)
        start(self._reader)

    def _now(self, events: float) -> Done:
        return Done(time.monotonic_ns(), events, sum(map(cpu_ns, self.tids)))

    def _read(self) -> None:
        with contextlib.suppress(ValueError):  # the end closes it between two lines
            for line in self._kept.out:
                rate = events_per_s(line.decode(errors="replace"))
                if rate is not None:
                    last = self.done[-1]
                    self.done.append(self._now(last.events + rate * (time.monotonic_ns() - last.at_ns) / 1e9))

    def stop(self) -> None:
        super().stop()
        self._reader.join()


def events_per_s(line: str) -> float | None:
    """Of a report of sysbench 1.0: `[ 2s ] thds: 1 eps: 888.87 lat (ms,95%): 8.43`; None: it is another line."""
    report = re.fullmatch(r"\[ \d+s \] thds: \d+ eps: ([\d.]+) lat .*", line.strip())
    return float(report[1]) if report else None


def find_sysbench() -> str:
    """Its program. Raises UserError with the package that has it."""
    program = shutil.which(SYSBENCH)
    if program is None:
        raise UserError("no sysbench on this system", remedy="apt-get install sysbench")
    return program


def sysbench_version() -> str:
    """ "1.0.20"."""
    printed = subprocess.run([find_sysbench(), "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"\d+(\.\d+)+", printed)
    return number[0] if number else "of a version that it does not print"
