"""A change of one key or table in a scenario's text by a form: comments, order and the rest of the text stay as they are."""

import copy
import difflib
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable

from windtunnel.errors import UserError
from windtunnel.scenario import toml
from windtunnel.scenario.overrides import MAX_DEPTH, value_of
from windtunnel.scenario.refusal import Path, dotted

Action = Literal["set", "add", "remove"]
_REMEDY = "change it in the text"


def path_of(text: str) -> Path:
    """The path of a name such as `workload.0.request`. Raises UserError."""
    parts = text.split(".")
    if (
        not text
        or len(parts) > MAX_DEPTH
        or not all(part.replace("_", "").isalnum() and part.isascii() for part in parts)
    ):
        raise UserError(f"{text[:80]}: not the name of a key", remedy="load the page again")
    return tuple(int(part) if part.isdigit() and len(part) < 10 else part for part in parts)


def changed(text: str, action: Action, path: Path, value: Any = None) -> str:
    """The text with the key set, with one more table at the end of a list of tables, or without the value at the path.

    Raises UserError if the text is no TOML, or if the change cannot be made in it.
    """
    try:
        expected = toml.parse(text)
        document = tomlkit.parse(text)
        for data in (expected, document):
            _change(data, action, path, value)
        new_text = _spaced(text, tomlkit.dumps(document))
        same = toml.parse(new_text) == expected
    except toml.Fault as fault:
        raise UserError(f"line {fault.line}: {fault.what}", remedy=f"mend the text first: {fault.remedy}") from None
    except (TOMLKitError, KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        raise UserError(f"{dotted(path)} cannot be changed in this text", remedy=_REMEDY) from None
    if not same:
        raise UserError(f"{dotted(path)} cannot be written into this text", remedy=_REMEDY)
    return new_text


def value_from(text: str, kind: str) -> Any:
    """The value of a form's field. A field of kind "text" has a text; others have a TOML value, or a bare word as in `--set`."""
    return text if kind == "text" else value_of(text)


def _change(data: Any, action: Action, path: Path, value: Any) -> None:
    """Changes a document of tomlkit or plain tables."""
    *way, last = path
    around, level = None, data
    for depth, part in enumerate(way, 1):
        if isinstance(part, str) and part not in level:
            if action == "remove":
                return
            level[part] = tomlkit.table() if depth == 1 else tomlkit.inline_table()
        around, level = level, level[part]
    if action == "remove":
        del level[last]
        if isinstance(level, list) and not level and around is not None:
            del around[way[-1]]
    elif action == "set":
        level[last] = copy.deepcopy(value)
    elif last in level:
        level[last].append(tomlkit.table() if isinstance(level[last], AoT) else {})
    else:
        level[last] = _list_of_one(level)


def _list_of_one(around: Any) -> Any:
    """A list with one empty table; inside an inline table it is inline, too."""
    if isinstance(around, InlineTable):
        return [{}]
    tables = tomlkit.aot()
    tables.append(tomlkit.table())
    return tables


def _spaced(before: str, after: str) -> str:
    """The text after the change, with one empty line before each added header and before a header that follows an addition."""
    old, new = before.split("\n"), after.split("\n")
    lines: list[str] = []
    for tag, _, _, first, end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        for number in range(first, end):
            fresh = tag != "equal" or (number == first and number > 0)
            if fresh and new[number].startswith("[") and lines:
                while lines and not lines[-1]:
                    lines.pop()
                lines.append("")
            lines.append(new[number])
    ending = before[len(before.rstrip("\n")) :]
    return "\n".join(lines).rstrip("\n") + ending
