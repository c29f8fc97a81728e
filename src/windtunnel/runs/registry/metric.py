"""What an entry of the registry says."""

from dataclasses import dataclass
from typing import Any, Literal

Noun = str
"""What a metric is of: stage, step, counter, worker, port, workload, phase, level, endpoint, copies, or what a part has."""
Better = Literal["higher", "lower"]
Form = Literal["count", "number", "mpps", "gbps", "percent", "duration", "rate"]
"""How it is written: mpps and gbps with three digits, durations of ns and rates with the prefix that suits."""
Tone = Literal["plain", "waits", "loss"]
"""How a value that is not 0 is coloured: lost time, lost packets."""


@dataclass(frozen=True)
class TableColumn:
    """A column of the tables that people read, in terminals and on pages."""

    head: str
    spare: int = 0
    """If there is no room, the column with the highest value is dropped first; 0 stays."""
    width: int = 0
    """Least width in cells of a terminal, so that the columns of a live table stay where they are."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric of one noun. None: not shown in that place. `--json` has all metrics."""

    noun: Noun
    name: str
    """Path of its value in the noun's row (`windtunnel.runs.rows`), as in "latency.p99"."""
    unit: str
    formula: str
    error: str
    """How it is measured, and how wrong it can be."""
    form: Form
    better: Better | None = None
    tone: Tone = "plain"
    family: str | None = None
    """Name that several metrics share in the reference, as in "latency": the first of them describes all."""
    table: TableColumn | None = None
    side_by_side: str | None = None
    """Name of its line when runs are shown side by side."""
    column: str | None = None
    """Column of a study's table; that of a stage or an endpoint has its name in front, as in "server_app_rx_work_ns"."""
    compared: str | None = None
    """Name under which `compare` compares runs."""
    open_loop: bool = False
    """Whether only tables of an open loop have it: in a closed loop it equals another metric."""

    def of(self, row: Any) -> Any:
        """Its value in this row; None: not measured, or nothing to measure."""
        value = row
        for part in self.name.split("."):
            if value is None:
                return None
            value = value.get(part) if isinstance(value, dict) else getattr(value, part)
        return value

    def shown(self, row: Any) -> Any:
        """Its value as `of` has it; also None if tables have no use for it."""
        return None if self.open_loop and row.pacing is None else self.of(row)

    @property
    def sql(self) -> str:
        """Type of its column in a study's table."""
        return "BIGINT" if self.form in ("count", "duration") else "DOUBLE"
