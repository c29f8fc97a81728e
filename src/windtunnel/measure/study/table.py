"""results.parquet: one row a run and workload."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from windtunnel.measure.study import parquet
from windtunnel.measure.study.columns import COLUMNS
from windtunnel.measure.study.record import StudyRecord

NAME = "results.parquet"


def columns(record: StudyRecord) -> dict[str, str]:
    """Name -> DuckDB type, the factors' behind `reasons`."""
    own = [(name, kind) for name, (kind, _) in COLUMNS.items()]
    split = list(COLUMNS).index("reasons") + 1
    return dict([*own[:split], *((factor.name, factor.type) for factor in record.factors), *own[split:]])


def write(path: Path, record: StudyRecord, rows: Sequence[dict[str, Any]]) -> Path:
    """Writes the table into the study's directory and returns its path. Raises UserError where it cannot."""
    types = columns(record)
    parquet.write(path / NAME, list(types.items()), [[row[name] for name in types] for row in rows])
    return path / NAME
