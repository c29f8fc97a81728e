"""Results as tables of plain rows, for DataFrames."""

from dataclasses import fields
from typing import Any

from windtunnel.errors import UserError
from windtunnel.measure.compare.comparison_record import Comparison
from windtunnel.measure.study.study import Study
from windtunnel.measure.throughput.search_record import SearchRecord
from windtunnel.notebook import Rows
from windtunnel.runs import Run
from windtunnel.runs.summary import summarise

_PLAIN = (str, int, float, bool, type(None))


def run_tables(run: Run) -> dict[str, Rows]:
    """Each row says in `rejected` whether it is an invalid run's. Raises UserError for a run that measured nothing."""
    if not run.has_metrics:
        raise UserError(
            f"{run.path}: an invalid run without a measured window", remedy="run.record.verdict.reasons says why"
        )
    summary = summarise(run)
    return {
        name: [_flat(row) | {"rejected": run.rejected} for row in getattr(summary, name)]
        for name in ("workloads", "stages", "workers", "ports")
    }


def study_tables(study: Study) -> dict[str, Rows]:
    """Results and points."""
    points = [point.model_dump(exclude={"sets", "cpus"}) for point in study.record.points]
    return {"results": study.rows, "points": [point | point.pop("cells") for point in points]}


def comparison_tables(comparison: Comparison) -> dict[str, Rows]:
    """Metrics and verdicts, each with the factors of its point."""
    metrics: Rows = []
    verdicts: Rows = []
    for point in comparison.points:
        for measure in point.measures:
            interval = measure.interval
            metrics.append(
                point.factors
                | {
                    "workload": measure.workload,
                    "metric": measure.metric,
                    "a": measure.middles[0],
                    "b": measure.middles[1],
                    "unit": measure.unit,
                    "percent": interval and interval.percent,
                    "low": interval and interval.low,
                    "high": interval and interval.high,
                    "smallest_detectable": interval and interval.smallest,
                    "shown": measure.shown,
                }
            )
        verdicts += [point.factors | {"workload": one.workload, "verdict": one.verdict} for one in point.judged]
    return {"metrics": metrics, "verdicts": verdicts}


def search_tables(search: SearchRecord) -> dict[str, Rows]:
    """Goals, trials and latency at parts of the rate."""
    return {name: [row.model_dump() for row in getattr(search, name)] for name in ("goals", "trials", "latency")}


def _flat(row: Any) -> dict[str, Any]:
    """A row's plain values; those of a nested row under its name, as in latency_p99."""
    values: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, _PLAIN):
            values[field.name] = value
        elif hasattr(value, "__dataclass_fields__"):
            values |= {
                f"{field.name}_{name}": inner for name, inner in _flat(value).items() if isinstance(inner, _PLAIN)
            }
    return values
