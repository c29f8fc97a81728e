"""A reading as text, as the index keeps it: a history of a thousand runs reads no run directory."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from windtunnel.measure.compare.reading import Reading

PAIRS_ALONE = ("finished", "excluded")
"""Fields that only runs in turn need."""


def to_text(reading: Reading) -> str:
    fields = {name: value for name, value in vars(reading).items() if name not in PAIRS_ALONE} | {
        "path": str(reading.path),
        "started": reading.started.isoformat() if reading.started else None,
        "values": [[*key, value] for key, value in reading.values.items()],
        "beyond": sorted(reading.beyond),
    }
    return json.dumps(fields)


def from_text(text: str) -> Reading:
    fields: dict[str, Any] = json.loads(text)
    started = fields["started"]
    return Reading(
        **fields
        | {
            "path": Path(fields["path"]),
            "started": datetime.fromisoformat(started) if started else None,
            "values": {(workload, metric): value for workload, metric, value in fields["values"]},
            "beyond": frozenset((workload, metric) for workload, metric in fields["beyond"]),
        }
    )
