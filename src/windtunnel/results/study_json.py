"""A study as JSON for machines: before it runs, with --plan, and at its end."""

from pathlib import Path
from typing import Any

from windtunnel.measure.study.forecast import Forecast
from windtunnel.measure.study.study import Prepared, Study
from windtunnel.results.study_sentences import findings

_VERSION = 1


def plan_json(prepared: Prepared) -> dict[str, Any]:
    """What `study --plan --json` prints."""
    design, forecast = prepared.design, Forecast(prepared.design, prepared.at_once)
    definition = design.definition
    return {
        "version": _VERSION,
        "title": definition.title,
        "question": definition.question,
        "repeats": definition.repeats,
        "runs": forecast.runs,
        "seconds": round(forecast.left_s, 3),
        "points": [
            {
                "number": point.number,
                "name": point.name,
                "factors": design.cells(point),
                "sets": list(point.sets),
                "cannot_run": point.cannot_run,
            }
            for point in design.points
        ],
    }


def study_json(study: Study, report: Path | None) -> dict[str, Any]:
    """What `study --json` prints. `report`: None if there is none."""
    record = study.record
    return {
        "version": _VERSION,
        "path": str(study.path),
        "title": record.title,
        "question": record.question,
        "finished": not study.interrupted,
        "runs": study.due,
        "run": study.finished,
        "invalid": study.invalid,
        "included": study.included,
        "relaxed": study.relaxed,
        "cannot_run": {p.name: p.cannot_run for p in record.points if p.cannot_run is not None},
        "host_state": None if record.spread else study.blocked.state,
        "repeated_for_state": study.repeated,
        "missed_state": study.missed,
        "findings": findings(study),
        "results": str(study.results) if study.rows else None,
        "report": str(report) if report else None,
    }
