"""Which programs ran on the workers' CPUs during a run: the programs that preempted workers, as far as /proc shows them."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from windtunnel.engine.lines import AnyLine, Ready, Result
from windtunnel.host import other_programs
from windtunnel.runs.record import EngineRecord

LEAST_SHARE = 0.005
"""Least share of the time of one CPU that is named; less rounds to nothing."""
MOST_NAMED = 3


class Preempting:
    """A listener of the supervisor: looks at all processes before the first window and after the last one."""

    def __init__(self, engine: Path) -> None:
        self._engine = engine.name
        self._snapshots: list[tuple[float, other_programs.Snapshot]] = []

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        if isinstance(line, Result if self._snapshots else Ready) and len(self._snapshots) < 2:
            self._snapshots.append((time.monotonic(), other_programs.take_snapshot()))

    def programs_text(self, engines: Sequence[EngineRecord]) -> str | None:
        """The programs with their shares of one CPU, as in "stress-ng 11%, kworker/1:2 1%"; None if nothing is known."""
        if len(self._snapshots) < 2:
            return None
        (began, before), (ended, after) = self._snapshots
        cpus = {worker.cpu for engine in engines for worker in engine.plan.workers}
        ran = other_programs.ran(before, after, cpus, os.getpid(), self._engine)
        shares = {name: seconds / (ended - began) for name, seconds in ran.items()}
        texts = [f"{name} {share:.0%}" for name, share in shares.items() if share > LEAST_SHARE]
        return ", ".join(texts[:MOST_NAMED]) or None
