"""Which scenarios a search can fly, and which of their keys it sets itself."""

from pathlib import Path

from windtunnel.scenario import Scenario, load
from windtunnel.scenario.refusal import Refusal

SILENT = ("null", "pcap")
"""Wires whose other end answers nothing."""


def searchable(file: Path, sets: list[str]) -> Scenario:
    """The scenario, checked for a search. Raises UserError that names file and line."""
    scenario = load(file, sets)
    try:
        _check(scenario)
    except Refusal as refusal:
        raise scenario.source.error(refusal) from None
    return scenario


def _check(scenario: Scenario) -> None:
    if scenario.wire.kind in SILENT:
        what = f'the wire "{scenario.wire.kind}" answers nothing: there is no loss to search by'
        raise Refusal(("wire", "kind"), what, "a wire with both sides, or one to somebody who answers")
    for index, workload in enumerate(scenario.workload):
        own = next((key for key in ("phase", "rate", "on") if getattr(workload, key)), None)
        if own:
            what = f"workload {index} has a load of its own (`{own}`): a search sets the rate of all by client.rate"
            raise Refusal(("workload", index, own), what, f"leave {own} out; `share` divides the rate among workloads")
