"""What a run directory has of a P4 program: the spec that p4c wrote, with which the run ran."""

from collections.abc import Mapping
from pathlib import Path

from windtunnel.engine import home
from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError
from windtunnel.parts.swx.handlers import HANDLER
from windtunnel.parts.swx.p4 import MOST_BYTES, is_written


def files(plan: Plan) -> Mapping[str, str]:
    """Texts by the names of their files. Raises UserError for a spec that is gone, or that others may have written."""
    handlers = [workload.packet_handler for workload in plan.workloads]
    specs = [Path(handler.options["spec"]) for handler in handlers if handler and handler.name == HANDLER]
    return {spec.name: _text(spec) for spec in specs if is_written(spec)}


def _text(spec: Path) -> str:
    try:
        return home.read(spec, MOST_BYTES).decode()
    except FileNotFoundError:
        raise UserError(f"{spec}: was removed since the run was planned", remedy="start the run again") from None
