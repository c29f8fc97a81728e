"""Schemas that editors take for the files that a user writes: completion, help and errors while typing.

taplo, the language server behind Even Better TOML, reads draft 7, and passes over what came later without a word. A file of TOML has no
null: of a key that may be left out only the other type is of use.
"""

from typing import Any

from windtunnel.measure.study.definition import Definition
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.table import Table

FILES: dict[str, type[Table]] = {"scenario": Scenario, "study": Definition}
"""Kind of file -> the model of its keys."""
DRAFT = "http://json-schema.org/draft-07/schema#"


def editor_schema(kind: str) -> dict[str, Any]:
    """Of one of FILES."""
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
    kept = [one for one in types if one != {"type": "null"}]
    if len(kept) == len(types):
        return part
    rest = {word: value for word, value in part.items() if word != "anyOf"}
    return kept[0] | rest if len(kept) == 1 else rest | {"anyOf": kept}


def _beside(part: dict[str, Any]) -> dict[str, Any]:
    """Beside a reference draft 7 reads nothing: a default or a help text goes round it."""
    if "$ref" not in part or len(part) == 1:
        return part
    return {"allOf": [{"$ref": part["$ref"]}]} | {word: value for word, value in part.items() if word != "$ref"}
