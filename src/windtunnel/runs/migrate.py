"""Records of earlier releases, made into those of this one before they are validated: one function a version step, on raw JSON.

A run directory that a release from 0.6.0 on wrote is readable by every later one, and so are those of version 4, which the last
snapshot before 0.6.0 wrote. Steps are never changed once their release is out; tests/support/records keeps samples of each
version. What an earlier release did not count is null. A counter that is only added needs no step: its field has the
default null.
"""

import json
from collections.abc import Callable
from typing import Any

from windtunnel.errors import UserError
from windtunnel.runs.migrate_ports import migrate_port
from windtunnel.runs.record import RUN_VERSION

Document = dict[str, Any]
Step = Callable[[Document], None]

FIRST_VERSION = 4
STUDY_RUNS_BEFORE_0_6 = "flights"
"""The directory of a study in which releases before 0.6.0 kept its runs."""


def readable(version: object, path: object) -> int:
    """The version, if a record of it can be read. Raises UserError if it cannot."""
    if isinstance(version, int) and FIRST_VERSION <= version <= RUN_VERSION:
        return version
    newer = isinstance(version, int) and version > RUN_VERSION
    raise UserError(
        f"{path}: record of version {version}, this windtunnel reads versions {FIRST_VERSION} to {RUN_VERSION}",
        remedy="read it with the windtunnel that wrote it, or a later one" if newer else None,
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


def rename(of: Document | None, names: dict[str, str]) -> None:
    """Old key -> new key; what is not there stays away."""
    for old, new in names.items():
        if of is not None and old in of:
            of[new] = of.pop(old)


# 4 -> 5: plain words (0.6.0)

SCENARIO_KEYS_5 = {
    "server": {"answer": "response_mbuf"},
    "validity": {
        "stolen": "max_preempted",
        "slower": "max_slowdown",
        "marked": "max_excluded_windows",
        "unsent": "max_unsent",
        "drift": "max_drift",
        "clock": "max_clock_error",
    },
}


def _record_to_5(record: Document) -> None:
    for table, keys in SCENARIO_KEYS_5.items():
        rename(record["scenario"].get(table), keys)
    rename(record.get("validity"), {"marks": "excluded"})
    rename(record.get("imported"), {"figures": "values"})
    for engine in record["engines"]:
        _plan_to_5(engine["plan"])
        rename(engine, {"met": "peer"})
        if engine.get("hello"):
            engine["hello"]["version"] = 5
        if engine.get("peer"):
            engine["peer"]["type"] = "peer"
        if result := engine.get("result"):
            rename(result, {"figures": "counters"})
            for messages in result["messages"]:
                rename(messages, {"answered": "responses"})


def _plan_to_5(plan: Document) -> None:
    """The plan of version 2 as version 3: the pipeline of match_action was JSON text in an option of its handler."""
    plan["version"] = 3
    for endpoint in plan["endpoints"]:
        rename(endpoint, {"answer_in": "response_mbuf"})
        migrate_port(endpoint["port"])
        endpoint["port"]["chains"] = False
    for workload in plan["workloads"]:
        workload |= {"pipeline": None, "source": None, "copies": None}
        handler = workload["packet_handler"]
        if handler and handler["name"] == "match_action":
            workload["pipeline"] = json.loads(handler["options"].pop("pipeline"))


def _window_to_5(window: Document) -> None:
    rename(window, {"figures": "counters"})
    for worker in window["workers"]:
        rename(worker, {"run_delay_ns": "preempted_ns", "stolen_ns": "steal_ns"})
    for workload in window["workloads"]:
        rename(workload, {"answered": "responses", "no_place": "inflight_full"})


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


RECORD_STEPS: dict[int, Step] = {4: _record_to_5, 5: _record_to_6}
WINDOW_STEPS: dict[int, Step] = {4: _window_to_5, 5: _window_to_6}
