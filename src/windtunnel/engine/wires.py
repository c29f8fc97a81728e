"""The known wires: from the engine or, without one, from the snapshot of this version."""

from functools import cache
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Port
from windtunnel.engine.query import Wire, read_wires, wires
from windtunnel.errors import UserError

SNAPSHOT = Path(__file__).parent / "wires.json"
"""What `windtunnel-engine --wires` printed when this version was made; `python -m windtunnel.schemas` writes it."""


def known() -> dict[str, Wire]:
    """The engine's wires by name. An engine that does not list its wires counts as missing: it will refuse the plan itself."""
    try:
        engine = find_engine()
    except UserError:
        return _of_snapshot()
    return _of_engine(engine) or _of_snapshot()


def of_port(port: Port) -> Wire:
    """The wire of a planned port. Raises UserError if there is none of its name."""
    if (wire := known().get(port.wire)) is None:
        raise UserError(f'no wire "{port.wire}" in this engine', remedy="`windtunnel wires` lists those that it has")
    return wire


@cache
def _of_engine(engine: Path) -> dict[str, Wire] | None:
    """The wires of an engine, which is asked once, because that takes a process; None if it does not know the question."""
    try:
        return {wire.name: wire for wire in wires(engine)}
    except UserError:
        return None


@cache
def _of_snapshot() -> dict[str, Wire]:
    return {wire.name: wire for wire in read_wires(SNAPSHOT.read_text(encoding="utf-8"))}
