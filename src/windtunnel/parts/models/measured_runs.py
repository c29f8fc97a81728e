"""Run directories of a study: the cost of each step, and the tables' own counters.

On a shared machine another hardware thread uses a part of the core at times. Workers measure that between their loops: the ticks of
additions that fill a core (`wide_ticks`) do not depend on tables, and rise by half and more. Windows in which they rose are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from windtunnel.engine.windows import Window
from windtunnel.parts.tables.lookup_memory import lookup_bytes
from windtunnel.parts.tables.planned_tables import Table, tables_of
from windtunnel.runs import Run, load
from windtunnel.runs.metrics import measured
from windtunnel.runs.path import packet_ns
from windtunnel.runs.rows import StepRow
from windtunnel.runs.summary import Summary, summarise


@dataclass(frozen=True)
class Parts:
    """The costs of one run's server, by part."""

    tables: list[list[Table]]
    """The tables of each workload in the plan."""
    steps: dict[str, float]
    """Time of each step per packet of the stage in ns, without the cost of the time stamps; steps that make traffic are left out."""
    pipeline_ns: float | None
    """Work and stall of all stages of the server, a packet, without the time stamps. None: not timed."""
    wide_ticks: float | None
    """Ticks of additions that fill a core, between the workers' loops: the median of the measured windows. None: not measured."""
    counters: dict[tuple[str, str], float]
    """(Table's name, counter's name) -> value at the end."""
    windows: int = 1
    """Windows that the costs come from. 0: all were on a shared core, and there are no costs."""

    def table_at(self, axis: str) -> Table | None:
        """The table whose key this path is; None if there is none."""
        _, workload, _, place, _ = axis.split(".")
        try:
            return self.tables[int(workload)][int(place)]
        except IndexError:
            return None

    def table_names(self) -> set[str]:
        return {table["name"] for tables in self.tables for table in tables}

    def entries_of(self, table: Table) -> float:
        """Entries that it holds, from the scenario or a file."""
        return self.counters.get((table["name"], "entries")) or float(table["rules"])

    def bytes_of(self, table: Table | None) -> float | None:
        """The memory that lookups read; None if the handler does not count the table's memory."""
        if table is None:
            return None
        memory = self.counters.get((table["name"], "memory"))
        return lookup_bytes(table, memory, self.entries_of(table)) if memory else None


def parts_of(directories: Sequence[Path], points: Sequence[int]) -> list[Parts | None]:
    """The parts of the runs of one study, from the windows in which no core was shared; `points`: the point of each run.

    None for a run whose directory is missing. If a point would lose all its runs, all windows of all runs count. Raises UserError for a damaged directory.
    """
    runs = [load(directory) if (directory / "run.json").is_file() else None for directory in directories]
    alone = _alone([run for run in runs if run])
    quiet = [run and alone(run) for run in runs]
    left = {
        point for run, point in zip(quiet, points, strict=True) if run and run.windows and any(run.windows.values())
    }
    if left >= {point for run, point in zip(runs, points, strict=True) if run}:
        runs = quiet
    return [_parts(run) if run else None for run in runs]


QUIET = 5
"""Percentile of all windows' ticks that counts as a core without a neighbour. Low, because few windows of a busy host are quiet."""
SHARED = 1.2
"""Factor from which a core counts as shared. Measured: 840 to 1050 ticks alone, 1440 to 1600 shared (AMD EPYC, SMT)."""


def _alone(runs: Sequence[Run]) -> Callable[[Run], Run]:
    """Reduces a run to the windows in which no worker's core was shared; keeps all if that was not measured."""
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
    """The most ticks of the window's workers; None if no worker measured them."""
    return max((worker.wide_ticks for worker in window.workers if worker.wide_ticks), default=None)


def _parts(run: Run) -> Parts:
    summary = summarise(run)
    steps = {
        row.step: _own_ns(row, row.stage_ns)
        for row in summary.steps
        if not row.traffic and not row.copier and row.stage_ns is not None
    }
    counters = {(row.of, row.name): float(row.value) for row in summary.counters}
    tables = tables_of(engine.plan for engine in run.record.engines)
    return Parts(tables, steps, _pipeline_ns(summary), _wide_ticks(run), counters, len(_measured(run)))


def _wide_ticks(run: Run) -> float | None:
    ticks = [worker.wide_ticks for window in _measured(run) for worker in window.workers if worker.wide_ticks]
    return median(ticks) if ticks else None


def _own_ns(row: StepRow, stage_ns: float) -> float:
    """A step without the time stamps, which a run without timing does not have."""
    return max(stage_ns - (row.stamp_ns or 0.0) * (row.packets_share or 0.0), 0.0)


def _pipeline_ns(summary: Summary) -> float | None:
    stages = [row for row in summary.stages if row.endpoint == "server"]
    steps = [row for row in summary.steps if row.endpoint == "server"]
    return packet_ns(stages, steps)
