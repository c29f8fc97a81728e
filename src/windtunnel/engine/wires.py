"""The known wires: from the engine or, without one, from the snapshot of this version."""

from functools import cache
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Port
from windtunnel.engine.query import Wire, read_wires, wires
from windtunnel.errors import UserError
from windtunnel.part_registry import PARTS, part_folder

SNAPSHOT = Path(__file__).parent / "wires.json"
"""What `windtunnel-engine --wires` printed of the spine when this version was made; `python -m windtunnel.schemas` writes it."""


def known() -> dict[str, Wire]:
    """The engine's wires by name. An engine that does not list its wires counts as missing: it will refuse the plan itself."""
    try:
        engine = find_engine()
    except UserError:
        return of_snapshot()
    return _of_engine(engine) or of_snapshot()


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
def of_snapshot() -> dict[str, Wire]:
    """The wires of this version by name."""
    places = (SNAPSHOT, *(part_folder(part) / SNAPSHOT.name for part in PARTS))
    listed = [wire for place in places if place.exists() for wire in read_wires(place.read_text(encoding="utf-8"))]
    return {wire.name: wire for wire in sorted(listed, key=lambda wire: wire.name)}


def snapshot_of(name: str) -> Path:
    """The file in which the wire of this name is. A part's wire has the name of the part, and is in its folder."""
    return part_folder(name) / SNAPSHOT.name if name in PARTS else SNAPSHOT
