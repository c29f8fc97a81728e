"""The form of a scenario, from its JSON schema and a text: each key with its help, its default and its value in the text."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from windtunnel.exchange.toml_text import value_text
from windtunnel.scenario.keys import Endpoint, Scenario, Wire
from windtunnel.scenario.wire_options import others_options

MOST_TABLES = 16
"""Tables of a list that have fields of their own."""


@dataclass(frozen=True)
class KeyField:
    """A key with one value."""

    path: str
    name: str
    help: str
    kind: str
    """"choice", "bool", "text", or "value": whatever TOML has."""
    text: str
    """The value in the text; empty: the text does not have the key."""
    default: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFields:
    """A table; or, with `is_list`, a list of tables."""

    path: str
    name: str
    help: str
    is_present: bool
    """Whether the text has it."""
    keys: list[KeyField] = field(default_factory=list)
    tables: list["TableFields"] = field(default_factory=list)
    is_list: bool = False
    more: int = 0
    """Tables of the list beyond MOST_TABLES."""

    @property
    def present_keys(self) -> list[KeyField]:
        return [key for key in self.keys if key.text]

    @property
    def absent_keys(self) -> list[KeyField]:
        return [key for key in self.keys if not key.text]

    @property
    def present_tables(self) -> list["TableFields"]:
        return [table for table in self.tables if table.is_present]

    @property
    def absent_tables(self) -> list["TableFields"]:
        return [table for table in self.tables if not table.is_present]

    @property
    def absent_text(self) -> str:
        """The number of keys and tables that the text does not have, such as "5 keys, 1 table"."""
        counts = {"key": len(self.absent_keys), "table": len(self.absent_tables)}
        return ", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items() if count)


def form_of(data: dict[str, Any]) -> TableFields:
    """The form of a scenario whose text has `data`."""
    return _table(_schema(), data, "", "scenario", _hidden(data))


def kind_at(path: str) -> str:
    """The `KeyField.kind` of the field at a path; "value" if the schema does not have it."""
    node = _schema()
    for part in path.split("."):
        node = _plain(node)
        node = node.get("items", {}) if part.isdigit() else node.get("properties", {}).get(part, {})
    return _kind(_plain(node))


@cache
def _schema() -> dict[str, Any]:
    return Scenario.model_json_schema()


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    """A schema without `$ref` and without the alternative null."""
    while True:
        options = [option for option in node.get("anyOf", ()) if option.get("type") != "null"]
        if "$ref" in node:
            node = _schema()["$defs"][node["$ref"].rpartition("/")[2]] | {k: v for k, v in node.items() if k != "$ref"}
        elif len(options) == 1:
            node = {key: value for key, value in node.items() if key != "anyOf"} | options[0]
        else:
            return node


def _hidden(data: dict[str, Any]) -> set[tuple[str, str]]:
    """Table and name of the options that the wire does not have."""
    wire = data.get("wire")
    kind = str(wire.get("kind", "ring")) if isinstance(wire, dict) else "ring"
    ends = {(side, name) for side in ("client", "server") for name in others_options(Endpoint.SCOPE, kind)}
    return ends | {("wire", name) for name in others_options(Wire.SCOPE, kind)}


def _table(node: dict[str, Any], data: Any, path: str, name: str, hidden: set[tuple[str, str]]) -> TableFields:
    node = _plain(node)
    values = data if isinstance(data, dict) else {}
    keys, tables = [], []
    for key, inner in node["properties"].items():
        where = f"{path}.{key}" if path else key
        plain = _plain(inner)
        help = inner.get("description") or plain.get("description", "")
        if "properties" in plain:
            tables.append(_with_help(_table(plain, values.get(key), where, key, hidden), help))
        elif "properties" in (items := _plain(plain.get("items", {}))):
            tables.append(_list(items, values.get(key), where, key, help, hidden))
        elif (path, key) not in hidden or key in values:
            keys.append(_field(plain, values.get(key), where, key, help))
    return TableFields(path, name, node.get("description", ""), isinstance(data, dict), keys, tables)


def _list(
    node: dict[str, Any], data: Any, path: str, name: str, help: str, hidden: set[tuple[str, str]]
) -> TableFields:
    entries = data if isinstance(data, list) else []
    tables = [
        _table(node, entry, f"{path}.{number}", f"{name} {number + 1}", hidden)
        for number, entry in enumerate(entries[:MOST_TABLES])
    ]
    return TableFields(path, name, help, bool(entries), [], tables, True, max(0, len(entries) - MOST_TABLES))


def _with_help(table: TableFields, help: str) -> TableFields:
    return TableFields(table.path, table.name, help, table.is_present, table.keys, table.tables)


def _field(node: dict[str, Any], value: Any, path: str, name: str, help: str) -> KeyField:
    kind = _kind(node)
    default = node.get("default")
    text = "" if value is None else _text(value)
    choices = tuple(map(str, node.get("enum", ())))
    if kind == "choice" and text and text not in choices:
        choices = (*choices, text)  # an invalid value is shown unchanged
    return KeyField(path, name, help, kind, text, "" if default is None else _text(default), choices)


def _kind(node: dict[str, Any]) -> str:
    if "enum" in node:
        return "choice"
    return {"boolean": "bool", "string": "text"}.get(node.get("type", ""), "value")


def _text(value: Any) -> str:
    """The text of a value in a field: a string without quotes, else TOML, which equals JSON for numbers and lists."""
    if isinstance(value, dict):
        return value_text(value)  # quadratic in the number of keys with tomlkit's tables
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
