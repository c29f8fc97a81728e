"""The handlers of a run, opened before it: `check` refuses what the run would refuse, at the scenario's own line."""

from dataclasses import replace
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.engine.history import History
from windtunnel.engine.plan import Plan
from windtunnel.engine.try_handlers import try_handlers
from windtunnel.errors import UserError
from windtunnel.scenario import RunSpec
from windtunnel.scenario.refusal import Refusal


def with_handler_notes(spec: RunSpec) -> RunSpec:
    """The run with notes on what its handlers respond with. Without an engine nothing is tried.

    Raises UserError that names file and line of a handler that does not open.
    """
    try:
        engine = find_engine()
    except UserError:
        return spec
    notes = []
    for plan in spec.plans:
        history = try_handlers(engine, plan)
        _refuse(spec, history)
        notes += _short_responses(history, plan)
    return replace(spec, notes=[*spec.notes, *dict.fromkeys(notes)])


def _refuse(spec: RunSpec, history: History) -> None:
    """Raises UserError if not all handlers have opened."""
    source, refusal = spec.scenario.source, history.refusal
    if refusal and refusal.handler:
        key = "handler" if refusal.handler.kind == "message" else "packet_handler"
        path = ("workload", refusal.handler.workload, key)
        raise source.error(Refusal(path, refusal.message, refusal.remedy or "what the handler asks for"))
    if refusal:
        raise UserError(f"{source.file}: {refusal.message}", remedy=refusal.remedy)
    if history.protocol_error or history.exit_code != 0:
        end = (
            history.protocol_error or history.killed_because or history.signal_name or f"exit code {history.exit_code}"
        )
        raise UserError(f"{source.file}: the engine ended while {history.phase}: {end}", remedy=_blame(history))


def _blame(history: History) -> str | None:
    """The place to look: a plug-in's own code ran."""
    return f"{Path(history.phase).name} is code of your own: look there first" if "/" in history.phase else None


def _short_responses(history: History, plan: Plan) -> list[str]:
    """Handlers that respond with less than the scenario's `response`, if requests and responses have one size each."""
    notes = []
    for handler in history.handlers:
        workload = plan.workloads[handler.workload]
        varied, room = workload.request_sizes or workload.response_sizes, workload.response_bytes
        if handler.response_bytes is not None and handler.response_bytes < room and not varied:
            notes.append(
                f"{handler.name} responds to a request of {workload.request_bytes} B with {handler.response_bytes} B, not with the "
                f"{room} B of response"
            )
    return notes
