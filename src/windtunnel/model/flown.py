"""What a run directory says of tables beyond the study's table: the cost of each step, and the tables' own figures."""

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from windtunnel.model.settings import Table, tables_of
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


def parts_of(directory: Path) -> Parts | None:
    """None where the run directory is no longer there. Raises UserError where it is damaged."""
    if not (directory / "run.json").is_file():
        return None
    run = load(directory)
    summary = summarise(run)
    steps = {row.step: _own_ns(row) for row in summary.steps if not row.traffic and row.stage_ns is not None}
    figures = {(row.of, row.name): float(row.value) for row in summary.figures}
    return Parts(
        tables_of(engine.plan for engine in run.record.engines), steps, _pipeline_ns(summary), _wide_ticks(run), figures
    )


def _wide_ticks(run: Run) -> float | None:
    windows = [window for of_engine in run.counted.values() for window in measured(of_engine)]
    ticks = [worker.wide_ticks for window in windows for worker in window.workers if worker.wide_ticks]
    return median(ticks) if ticks else None


def _own_ns(row: StepRow) -> float:
    """A step without the stamps that timed it, which are part of no run that is not timed."""
    return max(row.stage_ns - (row.stamp_ns or 0.0) * (row.packets_share or 0.0), 0.0)


def _pipeline_ns(summary: Summary) -> float | None:
    stages, steps = ([row for row in rows if row.endpoint == "server"] for rows in (summary.stages, summary.steps))
    return packet_ns(stages, steps)
