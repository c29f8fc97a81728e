"""The options of wires as keys of a scenario: types, ranges, defaults and help as the wires' descriptors have them."""

import json
from collections.abc import Iterable
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema

from windtunnel.engine.query import Scope, Wire, WireOption
from windtunnel.engine.wires import known
from windtunnel.scenario.quantities import Size, write
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import PciPort, Text


class OptionTable(Table):
    """A table in which options of the wire stand beside keys of its own. `windtunnel.scenario.wires` reads them."""

    model_config = ConfigDict(extra="allow")
    SCOPE: ClassVar[Scope]

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        own = handler.resolve_ref_schema(handler(schema))
        own["properties"] |= every_option(cls.SCOPE).model_json_schema()["properties"]
        own["additionalProperties"] = False
        return own


class WireName:
    """Annotation of the key that names the wire."""

    @staticmethod
    def wanted() -> str:
        return " | ".join(f'"{name}"' for name in known())

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {"enum": list(known())}


def options_of(wire: Wire, scope: Scope) -> type[Table]:
    """The table of the options that one wire has in [wire], or in [client] and [server]."""
    return _table(tuple((option, option.help) for option in wire.options if option.scope == scope))


def every_option(scope: Scope) -> type[Table]:
    """Options of all wires, each with the names of the wires in front of its help."""
    options: dict[str, WireOption] = {}
    helps: dict[str, dict[str, list[str]]] = {}
    for wire in known().values():
        for option in (option for option in wire.options if option.scope == scope):
            options.setdefault(option.name, option)
            helps.setdefault(option.name, {}).setdefault(option.help, []).append(wire.name)
    return _table(tuple((option, _whose(helps[name].items())) for name, option in options.items()))


def others_options(scope: Scope, wire: str) -> set[str]:
    """Names of options that other wires have and this one has not."""
    own = {option.name for option in known()[wire].options} if wire in known() else set()
    return {option.name for each in known().values() for option in each.options if option.scope == scope} - own


def _whose(helps: Iterable[tuple[str, list[str]]]) -> str:
    return "; ".join(f"{', '.join(names)}: {help}" for help, names in helps)


@cache
def _table(options: tuple[tuple[WireOption, str], ...]) -> type[Table]:
    """Attributes have a name that no method of pydantic's has; the key is the alias."""
    fields: dict[str, Any] = {
        f"{option.name}_": (
            _type(option) if option.default is not None else _type(option) | None,
            Field(_default(option), alias=option.name, description=help),
        )
        for option, help in options
    }
    return create_model("Options", __base__=Table, **fields)


def _type(option: WireOption) -> Any:
    match option.type:
        case "bytes":
            return Annotated[int, Size(write("size", option.least or 0), write("size", option.most or 0))]
        case "count":
            return Annotated[int, Field(ge=option.least, le=option.most)]
        case "bool":
            return bool
        case "choice":
            return Literal[tuple(option.choices or ())]
        case "words":
            return GenericAlias(list, (Literal[tuple(option.choices or ())],))
        case "pci":
            return PciPort
    return Annotated[Text, Field(min_length=1, max_length=option.most)]


def _default(option: WireOption) -> Any:
    match option.type:
        case _ if option.default is None:
            return None
        case "bytes":
            return write("size", int(option.default))
        case "count":
            return int(option.default)
        case "bool":
            return option.default == "true"
        case "words":
            return [word for word in option.default.split("|") if word]
    return option.default


def as_plan_has_it(value: Any) -> str:
    """An option's value as text for the engine. Paths are made absolute before."""
    if isinstance(value, bool):
        return json.dumps(value)
    return "|".join(value) if isinstance(value, list) else str(value)
