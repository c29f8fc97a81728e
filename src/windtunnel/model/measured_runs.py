"""What run directories say of tables beyond the study's table: the cost of each step, and the tables' own figures.

On a shared machine another hardware thread has a part of the core at times. Workers measure that between their loops: the ticks of
additions that fill a core (`wide_ticks`) know nothing of tables, and rise by half and more. Windows in which they did are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from windtunnel.engine.lines import Window
from windtunnel.engine.tables import Table, tables_of
from windtunnel.runs import Run, load
from windtunnel.runs.metrics import measured
from windtunnel.runs.path import packet_ns
from windtunnel.runs.rows import StepRow
from windtunnel.runs.summary import Summary, summarise

LINE = 64
"""Bytes that one lookup in a table of prefixes touches: a slot, and nobody else's in the same line."""


@dataclass(frozen=True)
class Parts:
    """One run's server, taken apart."""

    tables: list[list[Table]]
    """Of each workload, as the plan has them."""
    steps: dict[str, float]
    """ns of a packet of the stage, what the clock's stamps cost taken out; steps that make traffic are left out."""
    pipeline_ns: float | None
    """Work and stall of all stages of the server, a packet, the stamps taken out likewise; None: not timed."""
    wide_ticks: float | None
    """Of additions that fill a core, between the workers' loops: the median of the windows that count; None: not taken."""
    figures: dict[tuple[str, str], float]
    """(Table's name, figure's name) -> value at the end."""
    windows: int = 1
    """That the costs are made of; 0: somebody else had a part of the core in all of them, and there are no costs."""

    def table_at(self, axis: str) -> Table | None:
        """The table whose key this path is; None where there is none."""
        _, workload, _, place, _ = axis.split(".")
        try:
            return self.tables[int(workload)][int(place)]
        except IndexError:
            return None

    def table_names(self) -> set[str]:
        return {table["name"] for tables in self.tables for table in tables}

    def entries_of(self, table: Table) -> float:
        """As many as it holds, whoever made them."""
        return self.figures.get((table["name"], "entries")) or float(table["rules"])

    def bytes_of(self, table: Table | None) -> float | None:
        """What lookups choose among; None where the handler does not say what memory the table has.

        Tables that change are there twice. A table of prefixes has a slot for every address, of which few are ever looked at.
        """
        memory = table and self.figures.get((table["name"], "memory"))
        if not memory:
            return None
        memory /= 2 if table["access"] == "rcu" else 1
        return min(memory, LINE * self.entries_of(table)) if table["kind"] == "lpm" else memory


def parts_of(directories: Sequence[Path], points: Sequence[int]) -> list[Parts | None]:
    """Of the runs of one study, from the windows in which the core was theirs alone; `points`: which run repeats which.

    None for a run whose directory is no longer there. Where a point would lose all its runs, all runs count with all their
    windows. Raises UserError for a damaged directory.
    """
    runs = [load(directory) if (directory / "run.json").is_file() else None for directory in directories]
    alone = _alone([run for run in runs if run])
    left = {point for run, point in zip(runs, points, strict=True) if run and any(alone(run).windows.values())}
    if left >= {point for run, point in zip(runs, points, strict=True) if run}:
        runs = [alone(run) if run else None for run in runs]
    return [run and _parts(run) for run in runs]


QUIET = 5
"""Percentile of all windows' ticks that a core of one's own has: few windows of a busy host are quiet, and no window is too quiet."""
SHARED = 1.2
"""Times as many: somebody else had a part of it. Seen: 840 to 1050 ticks alone, 1440 to 1600 shared (AMD EPYC, SMT)."""


def _alone(runs: Sequence[Run]) -> Callable[[Run], Run]:
    """A run with the windows alone in which no worker's core was shared; all of them where nobody measured that."""
    ticks = [most for run in runs for window in _measured(run) if (most := _most_ticks(window))]
    limit = SHARED * float(np.percentile(ticks, QUIET)) if ticks else float("inf")

    def alone(run: Run) -> Run:
        kept = {
            name: [window for window in measured(windows) if (_most_ticks(window) or 0) <= limit]
            for name, windows in run.counted.items()
        }
        return replace(run, windows=kept)

    return alone


def _measured(run: Run) -> list[Window]:
    return [window for of_engine in run.counted.values() for window in measured(of_engine)]


def _most_ticks(window: Window) -> float | None:
    """Of its workers; None where none has measured them."""
    return max((worker.wide_ticks for worker in window.workers if worker.wide_ticks), default=None)


def _parts(run: Run) -> Parts:
    summary = summarise(run)
    steps = {row.step: _own_ns(row) for row in summary.steps if not row.traffic and row.stage_ns is not None}
    figures = {(row.of, row.name): float(row.value) for row in summary.counters}
    tables = tables_of(engine.plan for engine in run.record.engines)
    return Parts(tables, steps, _pipeline_ns(summary), _wide_ticks(run), figures, len(_measured(run)))


def _wide_ticks(run: Run) -> float | None:
    ticks = [worker.wide_ticks for window in _measured(run) for worker in window.workers if worker.wide_ticks]
    return median(ticks) if ticks else None


def _own_ns(row: StepRow) -> float:
    """A step without the stamps that timed it, which are part of no run that is not timed."""
    return max(row.stage_ns - (row.stamp_ns or 0.0) * (row.packets_share or 0.0), 0.0)


def _pipeline_ns(summary: Summary) -> float | None:
    stages, steps = ([row for row in rows if row.endpoint == "server"] for rows in (summary.stages, summary.steps))
    return packet_ns(stages, steps)
