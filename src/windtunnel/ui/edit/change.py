"""One key or table of a scenario's text changed as a form says it: comments, order and the rest of the text stay as they are."""

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
    """`workload.0.request` as a path. Raises UserError."""
    parts = text.split(".")
    if (
        not text
        or len(parts) > MAX_DEPTH
        or not all(part.replace("_", "").isalnum() and part.isascii() for part in parts)
    ):
        raise UserError(f"{text[:80]}: not the name of a key", remedy="load the page again")
    return tuple(int(part) if part.isdigit() and len(part) < 10 else part for part in parts)


def changed(text: str, action: Action, path: Path, value: Any = None) -> str:
    """The text with the key set; with one table more at the end of a list of tables; or without what stands at the path.

    Raises UserError where the text is no TOML, or the change cannot be made in it.
    """
    try:
        wanted = toml.parse(text)
        document = tomlkit.parse(text)
        for data in (wanted, document):
            _change(data, action, path, value)
        made = _spaced(text, tomlkit.dumps(document))
        same = toml.parse(made) == wanted
    except toml.Fault as fault:
        raise UserError(f"line {fault.line}: {fault.what}", remedy=f"mend the text first: {fault.remedy}") from None
    except (TOMLKitError, KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        raise UserError(f"{dotted(path)} cannot be changed in this text", remedy=_REMEDY) from None
    if not same:
        raise UserError(f"{dotted(path)} cannot be written into this text", remedy=_REMEDY)
    return made


def value_from(text: str, kind: str) -> Any:
    """What a field of the form says. A field for texts has texts alone; others have a TOML value, or a bare word as `--set` takes it."""
    return text if kind == "text" else value_of(text)


def _change(data: Any, action: Action, path: Path, value: Any) -> None:
    """In a document of tomlkit, or in plain tables, alike."""
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
    """A list with one empty table; in a table that stands on one line it does so too."""
    if isinstance(around, InlineTable):
        return [{}]
    made = tomlkit.aot()
    made.append(tomlkit.table())
    return made


def _spaced(before: str, after: str) -> str:
    """With one empty line before each header in what was added, and before a header that follows it."""
    old, new = before.split("\n"), after.split("\n")
    lines: list[str] = []
    for what, _, _, first, end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        for number in range(first, end):
            fresh = what != "equal" or (number == first and number > 0)
            if fresh and new[number].startswith("[") and lines:
                while lines and not lines[-1]:
                    lines.pop()
                lines.append("")
            lines.append(new[number])
    ending = before[len(before.rstrip("\n")) :]
    return "\n".join(lines).rstrip("\n") + ending
