"""A run for machines: what `--json` prints."""

from dataclasses import asdict
from typing import Any

from windtunnel.measure.earlier import Earlier
from windtunnel.part_registry import part_functions
from windtunnel.runs.counters import event_rows
from windtunnel.runs.intervals import percentile_rows
from windtunnel.runs.joined import Joined, crossings, on_two_hosts, session
from windtunnel.runs.reader import Run
from windtunnel.runs.summary import summarise

SUMMARY_VERSION = 4


def run_json(run: Run, earlier: Earlier | None = None) -> dict[str, Any]:
    """The run for machines. `rejected`: `metrics` and what parts add are those of an invalid run. They are null if no window was measured.
    `earlier` is null where no earlier run is like it, and in a list of several runs."""
    record = run.record
    shown = {
        "version": SUMMARY_VERSION,
        "path": str(run.path),
        "title": record.title,
        "question": record.question,
        "started": record.started.isoformat() if record.started else None,
        "verdict": asdict(record.verdict),
        "relaxed": record.relaxed,
        "rejected": run.rejected,
        "validity": record.validity.model_dump(mode="json") if record.validity else None,
        "earlier": asdict(earlier) if earlier else None,
        "memory": record.memory,
        "wire": record.wire,
        "accounting": record.accounting,
        "emulated": record.emulated,
        "labels": record.labels,
        "notes": record.all_notes(),
        "problems": run.problems,
        "imported": record.imported.model_dump(mode="json", exclude={"stages", "ports"}) if record.imported else None,
        "observed": record.observed.model_dump(mode="json", exclude={"stages", "ports"}) if record.observed else None,
        "metrics": summarise(run).json() if run.has_metrics else None,
        "percentiles": [asdict(row) for row in percentile_rows(run)] if run.has_metrics else [],
        "events": [asdict(row) for row in event_rows(run)] if run.has_metrics else [],
    }
    for fields in part_functions("as_json", "fields"):
        shown |= fields(run)
    return shown | (_between_hosts(run) if on_two_hosts(run) else {})


def joined_json(joined: Joined) -> dict[str, Any]:
    """Both sides for machines, as one run."""
    return run_json(joined) | {"paths": {side: str(path) for side, path in joined.paths.items()}}


def _between_hosts(run: Run) -> dict[str, Any]:
    return {
        "session": session(run),
        "between_hosts": [asdict(crossing) | {"lost": crossing.lost} for crossing in crossings(run)],
    }
