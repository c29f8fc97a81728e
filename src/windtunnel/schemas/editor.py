"""Schemas for editors of the files that a user writes: completion, help and errors while typing.

taplo, the language server behind Even Better TOML, reads draft 7, and silently ignores later keywords. A TOML file has no null: for an
optional key only the other type is kept.
"""

from typing import Any

from windtunnel.measure.study.definition import Definition
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.table import Table

FILES: dict[str, type[Table]] = {"scenario": Scenario, "study": Definition}
"""Kind of file -> the model of its keys."""
DRAFT = "http://json-schema.org/draft-07/schema#"


def editor_schema(kind: str) -> dict[str, Any]:
    """The schema of one of FILES."""
    schema = FILES[kind].model_json_schema(ref_template="#/definitions/{model}")
    tables = {name: _in_draft_7(table) for name, table in schema.pop("$defs").items()}
    return {"$schema": DRAFT, **_in_draft_7(schema), "title": f"Windtunnel: a {kind}", "definitions": tables}


def _in_draft_7(part: Any) -> Any:
    if isinstance(part, list):
        return [_in_draft_7(value) for value in part]
    if not isinstance(part, dict):
        return part
    plain = {
        word: {name: _in_draft_7(key) for name, key in value.items()} if word == "properties" else _in_draft_7(value)
        for word, value in part.items()
        if not (word == "title" or word.startswith("x-") or (word == "default" and value is None))
    }
    return _beside(_without_null(plain))


def _without_null(part: dict[str, Any]) -> dict[str, Any]:
    types = part.get("anyOf", [])
    alternatives = [alternative for alternative in types if alternative != {"type": "null"}]
    if len(alternatives) == len(types):
        return part
    rest = {word: value for word, value in part.items() if word != "anyOf"}
    return alternatives[0] | rest if len(alternatives) == 1 else rest | {"anyOf": alternatives}


def _beside(part: dict[str, Any]) -> dict[str, Any]:
    """The part with its `$ref` inside an `allOf`, because draft 7 ignores a default or a help text beside a reference."""
    if "$ref" not in part or len(part) == 1:
        return part
    return {"allOf": [{"$ref": part["$ref"]}]} | {word: value for word, value in part.items() if word != "$ref"}
