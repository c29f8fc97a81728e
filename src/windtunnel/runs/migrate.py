"""Records of earlier releases, made into those of this one before they are validated: one function a version step, on raw JSON.

A run directory that a release wrote is readable by every later one, and so are those of version 5, which no release wrote. Steps are never
changed once their release is out; tests/support/records keeps samples of each version. What an earlier release did not count is null. A
counter that is only added needs no step: its field has the default null.
"""

from collections.abc import Callable
from typing import Any

from windtunnel.errors import UserError
from windtunnel.runs.record import RUN_VERSION

Document = dict[str, Any]
Step = Callable[[Document], None]

FIRST_VERSION = 5


def readable(version: object, path: object) -> int:
    """The version, if a record of it can be read. Raises UserError if it cannot."""
    if isinstance(version, int) and FIRST_VERSION <= version <= RUN_VERSION:
        return version
    newer = isinstance(version, int) and version > RUN_VERSION
    raise UserError(
        f"{path}: record of version {version}, this windtunnel reads versions {FIRST_VERSION} to {RUN_VERSION}",
        remedy="read it with the Windtunnel that wrote it, or a later one" if newer else None,
    )


def migrate_record(document: Document) -> Document:
    """run.json of any readable version as one of RUN_VERSION. Changes `document`."""
    for version in range(document["version"], RUN_VERSION):
        RECORD_STEPS[version](document)
        document["version"] = version + 1
    return document


def migrate_window(document: Document, version: int) -> Document:
    """A line of the windows.jsonl beside a run.json of this version, likewise."""
    for step in range(version, RUN_VERSION):
        WINDOW_STEPS[step](document)
    return document


# 5 -> 6: no exclusion reads a response count (0.6.0)


def _record_to_6(record: Document) -> None:
    """Windows that were excluded for their rate count again, and a run that was invalid for that alone is valid. Its metrics are computed from
    its windows, as they always are; `validity.settled` stays that of the last level."""
    validity, verdict = record.get("validity"), record["verdict"]
    if validity is None:
        return
    validity["excluded"] = [mark for mark in validity["excluded"] if not all(map(_of_level, mark["reasons"]))]
    for check in validity["checks"]:
        if check["name"] == "steady" and check["state"] in ("bad", "note"):
            check["state"] = "warning"
    others = [reason for reason in verdict["reasons"] if not reason.startswith("steady: ")]
    record["verdict"] = {"valid": verdict["valid"] or (not others and bool(verdict["reasons"])), "reasons": others}


def _of_level(reason: str) -> bool:
    """Whether a window was excluded because the run, or a phase of its load, had not settled by then."""
    return "warming up: " in reason or reason.endswith(" settled on another level")


def _window_to_6(_: Document) -> None:
    """Nothing."""


RECORD_STEPS: dict[int, Step] = {5: _record_to_6}
WINDOW_STEPS: dict[int, Step] = {5: _window_to_6}
