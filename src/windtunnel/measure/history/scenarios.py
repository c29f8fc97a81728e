"""Which runs are of one history: those of one scenario on one host, measured in one way. Kernel, engine and DPDK may change: a history
shows what they changed."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from windtunnel.measure.compare.reading import Reading
from windtunnel.runs.identity import NO_FACTOR, flat
from windtunnel.scenario import here, load, resolve
from windtunnel.scenario.plugins import code_not_opened

SOFTWARE = ("kernel", "engine", "DPDK")
"""Parts of a run's identity that a history spans."""


def scenario_key(resolved: Mapping[str, Any]) -> str:
    """Key of a scenario, from its keys as resolved, by dotted paths: the same for runs that differ only in title and seed."""
    return _hash({key: value for key, value in resolved.items() if key not in NO_FACTOR})


def scenario_key_of(file: Path, sets: Sequence[str]) -> str:
    """The key that `windtunnel run FILE --set ...` would record on this host. Raises UserError for a scenario that cannot run."""
    with code_not_opened():  # what a plug-in says of itself is no part of the key
        return scenario_key(flat(to_jsonable_python(resolve(load(file, list(sets)), here()).resolved)))


def history_key(reading: Reading) -> str:
    """Key of the history that a run belongs to."""
    fixed = {fact: value for fact, value in reading.identity.items() if fact not in SOFTWARE}
    return _hash([scenario_key(reading.scenario), fixed])


def in_order(readings: Sequence[Reading], by: str | None) -> list[Reading]:
    """Sorts by start time; with `by`, by the first time at which each value of this label was seen, and without the runs
    that do not have it. A run whose start is not known is left out."""
    timed = sorted(
        (r for r in readings if r.started), key=lambda r: (r.started.timestamp() if r.started else 0, r.path)
    )
    if by is None:
        return timed
    places = {value: n for n, value in enumerate(dict.fromkeys(r.labels[by] for r in timed if by in r.labels))}
    return sorted((r for r in timed if by in r.labels), key=lambda r: places[r.labels[by]])


def changed(before: Reading, after: Reading) -> list[str]:
    """Labels and software that differ between two runs, one text for each."""
    older, newer = _versions(before), _versions(after)
    keys = [key for key in dict.fromkeys([*older, *newer]) if older.get(key) != newer.get(key)]
    return [f"{key} {older.get(key, 'not set')} → {newer.get(key, 'not set')}" for key in keys]


def _versions(reading: Reading) -> dict[str, str]:
    software = {fact: reading.identity[fact] for fact in SOFTWARE}
    builds = " and ".join(build[:12] for build in reading.builds) or "not known"
    return reading.labels | software | {"build": builds}


def _hash(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]
