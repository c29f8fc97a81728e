"""What the engine says of tables: the memory that they need."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from windtunnel.engine.query import REBUILD, query
from windtunnel.errors import UserError


def table_needs(engine: Path, pipeline: str) -> list[int]:
    """Bytes that each table of a pipeline (`Pipeline` as JSON) will want from DPDK's heap at most. Raises UserError with the engine's
    own words."""
    text = query(engine, ["--tables-need", pipeline])
    try:
        return TypeAdapter(list[int]).validate_json(text)
    except ValidationError as error:
        raise UserError(f"{engine} --tables-need: not a list of bytes: {text[:80]!r}", remedy=REBUILD) from error
