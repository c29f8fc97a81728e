"""What the engine says of its copiers, and what their copies cost."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from windtunnel.engine.own_directory import for_eal
from windtunnel.engine.query import COSTS_TIMEOUT_S, REBUILD, HandlerOption, query
from windtunnel.errors import UserError
from windtunnel.parts.copies.ledger import CopierKind


class Copier(BaseModel):
    """A copier, as engine/parts/copies/copiers/copier.h explains it. With the default of `thread_option` it has a thread of its own; `inner_option`
    names the copier on which it works; `profile_option` names the figures of the engine that it models."""

    name: str
    help: str
    thread_option: str | None
    inner_option: str | None
    profile_option: str | None = None
    most_depth: int
    options: list[HandlerOption]


class CopierHead(BaseModel):
    """A copier whose costs are measured."""

    type: Literal["copier"]
    engine: str
    kind: CopierKind
    device: str
    cpu: int | None
    """CPU of the thread of a software copier."""
    tsc_hz: int
    trip_ns: float | None
    """Round trip of a small copy to that thread, before the measurement."""


class CopyCosts(BaseModel):
    """TSC cycles of a copy of one size; `hot`: the same bytes again and again, which stay in the caches."""

    type: Literal["costs"]
    bytes: int
    hot: bool
    cpu_cycles: float
    """Cycles of rte_memcpy."""
    caller_cycles: float
    """Cycles of the worker for the copier's submit and for the poll that finds the end."""
    copier_cycles: float
    """Cycles from one end to the next, with as many copies at a time as the depth."""


class CopyEnd(BaseModel):
    type: Literal["end"]
    trip_ns: float | None
    """The same round trip, after the measurement."""


_COPY_COSTS = TypeAdapter(Annotated[CopierHead | CopyCosts | CopyEnd, Field(discriminator="type")])
_COPIERS = TypeAdapter(list[Copier])


def copiers(engine: Path, plugin: Path | None = None) -> list[Copier]:
    """The built-in copiers, or the one in a shared object. Raises UserError with the engine's own words."""
    asked = ["--copiers", *(["--plugin", str(plugin.absolute())] if plugin else [])]
    try:
        return _COPIERS.validate_json(query(engine, asked))
    except ValidationError as error:
        raise UserError(
            f"{engine} --copiers: not a list of copiers: {error.errors()[0]['msg']}", remedy=REBUILD
        ) from error


def copy_costs(engine: Path, asked: Mapping[str, Any]) -> tuple[CopierHead, list[CopyCosts], CopyEnd]:
    """Measures one copier; `asked`: as engine/parts/copies/copiers/print_costs.h has it. Raises UserError with the engine's own words."""
    text = query(engine, ["--copy-costs", json.dumps(asked)], COSTS_TIMEOUT_S, for_eal())
    try:
        lines = [_COPY_COSTS.validate_json(line) for line in text.split("\n") if line]
    except ValidationError as error:
        raise UserError(f"{engine} --copy-costs: {error.errors()[0]['msg']}", remedy=REBUILD) from error
    match lines:
        case [CopierHead() as head, *between, CopyEnd() as end]:
            costs = [line for line in between if isinstance(line, CopyCosts)]
            if costs and len(costs) == len(between):
                return head, costs, end
    raise UserError(f"{engine} --copy-costs: its output has no beginning or no end", remedy=REBUILD)
