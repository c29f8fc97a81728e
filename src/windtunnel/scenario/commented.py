"""A scenario's text with its keys explained: a starting point for a new scenario."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from windtunnel.scenario.keys import Scenario, Wire
from windtunnel.scenario.reference import Key, keys_of, table_at
from windtunnel.scenario.wire_options import OptionTable, others_options

_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.]+)\s*\]{1,2}\s*(#.*)?", re.ASCII)
_PAIR = re.compile(r"(\w+)\s*=\s*(?!\"\"\"|''')[^#]*", re.ASCII)
COLUMN = 32
"""Column in which comments begin, if the key and its value leave room."""


def commented(text: str) -> str:
    """Each key that stands on a line without a comment gets its help; below the keys of a table stand those that it may have
    too, as comments with their defaults. The scenario that it means is the same."""
    lines: list[str] = []
    for header, body in _tables(text):
        table = table_at(tuple(header.split("."))) if header else Scenario
        keys = keys_of(table) if table else {}
        *content, trailing = _split(body)
        lines += [_explained(line, keys) for line in content]
        present = {match[1] for line in content if (match := _PAIR.match(line))}
        foreign = others_options(table.SCOPE, _wire_in(text)) if table and issubclass(table, OptionTable) else set()
        known = present | foreign
        absent = [key for key in keys.values() if key.name not in known and not _stands(key, header, text)]
        # tables last: a key below one that is no comment any more would be that table's
        lines += [_offered(key, header) for key in sorted(absent, key=lambda key: key.table is not None)]
        lines += trailing
    return "\n".join(lines) + "\n"


def _tables(text: str) -> Iterator[tuple[str, list[str]]]:
    """Name of each table with its lines, header included; the first has no name."""
    name = ""
    lines: list[str] = []
    for line in text.rstrip("\n").split("\n"):
        if match := _HEADER.fullmatch(line):
            yield name, lines
            name, lines = match[1], []
        lines.append(line)
    yield name, lines


def _split(lines: list[str]) -> list[Any]:
    """The lines, and as the last element those empty ones and comments behind the last key, which belong to what follows. A
    comment that opens the file belongs to the file."""
    opening = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    end = len(lines)
    while end > opening and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return [*lines[:end], lines[end:]]


def _explained(line: str, keys: dict[str, Key]) -> str:
    match = _PAIR.fullmatch(line)
    key = keys.get(match[1]) if match else None
    return f"{line.rstrip():<{COLUMN - 1}} # {key.help}" if key and key.help else line


def _offered(key: Key, header: str) -> str:
    if key.table:
        name = f"{header}.{key.name}" if header else key.name
        return f"{f'# [[{name}]]' if key.many else f'# [{name}]':<{COLUMN - 1}} # {key.help}"
    if key.default and key.default != "required":
        return f"{f'# {key.name} = {key.default}':<{COLUMN - 1}} # {key.help}"
    return f"{f'# {key.name} =':<{COLUMN - 1}} # {key.help}; takes {key.wanted}"


def _wire_in(text: str) -> str:
    return str(tomllib.loads(text).get("wire", {}).get("kind", Wire.model_fields["kind"].default))


def _stands(key: Key, header: str, text: str) -> bool:
    """Whether the file has the table that the key holds."""
    level = tomllib.loads(text)
    for part in header.split(".") if header else []:
        level = level.get(part, {})
        level = level[0] if isinstance(level, list) else level
    return bool(key.table) and key.name in level
