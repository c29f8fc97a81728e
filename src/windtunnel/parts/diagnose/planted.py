"""What a diagnosis may not see: what was put into a run on purpose, to cost time. It has to be found by what it does.

Drops that the emulated wire counted stay in the windows: a NIC counts its own, too. Windows of other variants than the first one are in no
metric, and so in no diagnosis: an experiment reads them, and says so.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from windtunnel.engine.plan import Plan
from windtunnel.runs import Run
from windtunnel.runs.validity import Validity

EMULATED = "emulated"
"""How notes of the engine about the wire begin, and the name of the check that repeats them."""
KEYS_OF_WIRE, KEYS_OF_WORKLOAD = ("link", "faults"), ("extra_ticks",)


def without(run: Run) -> Run:
    """The run without extra work, delays, faults and emulated links in its plans, its scenario, its checks and its notes."""
    record = run.record
    engines = [
        engine.model_copy(update={"plan": _plan(engine.plan), "ready": engine.ready and _ready(engine.ready)})
        for engine in record.engines
    ]
    known = {
        "engines": engines,
        "scenario": _scenario(record.scenario),
        "validity": record.validity and _validity(record.validity),
        "notes": _not_emulated(record.notes),
        "variants": [],
        "title": "",
        "question": None,
    }
    return replace(run, record=record.model_copy(update=known))


def _plan(plan: Plan) -> Plan:
    endpoints = [
        endpoint.model_copy(update={"port": endpoint.port.model_copy(update={"faults": None, "link": None})})
        for endpoint in plan.endpoints
    ]
    workloads = [workload.model_copy(update={"extra_ticks": 0}) for workload in plan.workloads]
    return plan.model_copy(
        update={"title": "", "hash": "", "endpoints": endpoints, "workloads": workloads, "variants": None}
    )


def _ready(ready: Any) -> Any:
    return ready.model_copy(update={"notes": _not_emulated(ready.notes)})


def _validity(validity: Validity) -> Validity:
    return validity.model_copy(update={"checks": [check for check in validity.checks if check.name != EMULATED]})


def _not_emulated(notes: list[str]) -> list[str]:
    return [note for note in notes if not note.startswith(EMULATED)]


def _scenario(scenario: Mapping[str, Any]) -> dict[str, Any]:
    kept = dict(scenario)
    if isinstance(wire := kept.get("wire"), dict):
        kept["wire"] = {key: value for key, value in wire.items() if key not in KEYS_OF_WIRE}
    if isinstance(workloads := kept.get("workload"), list):
        kept["workload"] = [
            {key: value for key, value in workload.items() if key not in KEYS_OF_WORKLOAD} for workload in workloads
        ]
    return kept
