"""The wire of a scenario: its descriptor, the values of its options, and what both mean for the rest."""

import difflib
import os
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from windtunnel.engine.plan_values import Side, Trait
from windtunnel.engine.query import WireNeed, WireOption
from windtunnel.engine.wires import known
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Path, Refusal, shown
from windtunnel.scenario.wire_options import OptionTable, WireName, as_plan_has_it, options_of

SIDES: tuple[Side, ...] = ("server", "client")


def has(scenario: Scenario, trait: Trait) -> bool:
    return trait in scenario.descriptor.traits


def named(*traits: Trait, without: tuple[Trait, ...] = ()) -> str:
    """The wires with all these traits, for a remedy: `"ring" or "memif"`."""
    fitting = [w.name for w in known().values() if set(traits) <= set(w.traits) and not set(without) & set(w.traits)]
    return " or ".join(f'"{name}"' for name in fitting)


def values(scenario: Scenario, table: OptionTable) -> dict[str, Any]:
    """The options that stand in [wire] or an endpoint, each with its value; None for one without."""
    read = options_of(scenario.descriptor, table.SCOPE).model_validate(table.model_extra or {})
    return {field.alias or name: getattr(read, name) for name, field in type(read).model_fields.items()}


def dumped(scenario: Scenario, table: OptionTable) -> dict[str, Any]:
    """The options that stand in [wire] or an endpoint, as a scenario would write them."""
    read = options_of(scenario.descriptor, table.SCOPE).model_validate(table.model_extra or {})
    return read.model_dump(mode="json", by_alias=True)


def value(scenario: Scenario, name: str, side: Side | None = None) -> Any:
    """One option's value: of the wire, or of a side's endpoint; None if it has none, or if there is no such side."""
    for table in (scenario.wire, getattr(scenario, side) if side else None):
        if table is not None and name in (options := values(scenario, table)):
            return options[name]
    return None


def of_type(scenario: Scenario, kind: str) -> Iterator[WireOption]:
    """The options of this type that the scenario's wire has."""
    return (option for option in scenario.descriptor.options if option.type == kind)


def need(scenario: Scenario, kind: str) -> WireNeed | None:
    """What the wire needs of this kind."""
    return next((need for need in scenario.descriptor.needs if need.kind == kind), None)


def needed_option(scenario: Scenario, kind: str) -> WireOption | None:
    """The option that a need of this kind is about; None if the wire has no such need."""
    names = [need.option for need in scenario.descriptor.needs if need.kind == kind]
    return next((option for option in scenario.descriptor.options if option.name in names), None)


def is_timed(scenario: Scenario) -> bool:
    """Whether frames come at times of their own."""
    options = [option for option in scenario.descriptor.options if option.timed]
    return any(value(scenario, option.name) == option.timed for option in options)


def is_lossy(scenario: Scenario) -> bool:
    """Whether an option lets packets be lost on the way."""
    return any(value(scenario, option.name) == option.lossy for option in scenario.descriptor.options if option.lossy)


def sends_packets(scenario: Scenario) -> bool:
    """Whether requests are packets to the peer, and not operations on its memory."""
    options = scenario.descriptor.options
    return all(value(scenario, option.name) == option.packets for option in options if option.packets)


def is_reliable(scenario: Scenario) -> bool:
    """Whether an option could let packets be lost, and does not."""
    return any(option.lossy for option in scenario.descriptor.options) and not is_lossy(scenario)


def frame_option(scenario: Scenario) -> WireOption | None:
    """The option that says how long the frames are that the wire itself brings."""
    return next((option for option in scenario.descriptor.options if option.frame), None)


def traits(scenario: Scenario) -> list[Trait]:
    """The wire's traits as the plan has them."""
    timed: list[Trait] = ["timed"] if is_timed(scenario) else []
    lossy: list[Trait] = ["lossy"] if is_lossy(scenario) else []
    return [*scenario.descriptor.traits, *timed, *lossy]


def plan_options(scenario: Scenario, endpoint: OptionTable, socket: str | None) -> dict[str, str]:
    """All options of an end as the engine wants them; `socket`: the place at which two processes find each other."""
    options: dict[str, str] = {}
    given = values(scenario, scenario.wire) | values(scenario, endpoint)
    for option in scenario.descriptor.options:
        option_value = given[option.name]
        if option.type == "socket":
            option_value = socket
        elif option.type == "file" and option_value is not None:
            option_value = os.path.realpath(scenario.source.file.parent / option_value)
        if option_value is not None:
            options[option.name] = as_plan_has_it(option_value)
    return options


def read_options(scenario: Scenario, refusal_of: Callable[[Any], Refusal]) -> None:
    """Checks the wire's name and options, and writes each value as it is written back. Raises Refusal."""
    kind = scenario.wire.kind
    if kind not in known():
        raise _no_wire(kind)
    for where in ("wire", *SIDES):
        table: OptionTable | None = getattr(scenario, where)
        if table is None or not table.model_extra:
            continue
        model = options_of(scenario.descriptor, table.SCOPE)
        _names(scenario, where, table, {field.alias for field in model.model_fields.values()}, refusal_of)
        try:
            read = model.model_validate(table.model_extra)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise refusal_of({**first, "loc": (where, *first["loc"])}) from None
        table.model_extra.update(read.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _no_wire(kind: str) -> Refusal:
    path: Path = ("wire", "kind")
    wanted = f'it takes {WireName.wanted()}; default "ring"'
    close = difflib.get_close_matches(kind, known(), n=1)
    return Refusal(path, f"wire.kind is {shown(kind)}", f'did you mean "{close[0]}"? {wanted}' if close else wanted)


def _names(
    scenario: Scenario, where: str, table: OptionTable, own: set[str | None], refusal_of: Callable[[Any], Refusal]
) -> None:
    """Options that the wire does not have: those of another wire, or unknown ones."""
    for name in table.model_extra or {}:
        if name in own:
            continue
        others = [w.name for w in known().values() for o in w.options if (o.name, o.scope) == (name, table.SCOPE)]
        if not others:
            raise refusal_of({"type": "extra_forbidden", "loc": (where, name)})
        remedy = "wire.kind = " + " or ".join(f'"{other}"' for other in others) + f", or no {name}"
        raise Refusal((where, name), f'{where}.{name} has no effect on the wire "{scenario.wire.kind}"', remedy)
