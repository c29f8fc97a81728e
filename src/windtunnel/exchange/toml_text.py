"""A scenario's data as commented TOML."""

import json
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

_WIDTH = 120
_WIDEST_KEY = 40
"""Values are aligned for keys up to that width: one long key would add as many spaces to each line."""


def text_of(question: str, notes: Sequence[str], data: dict[str, Any]) -> str:
    """A TOML text: the question and the notes as comments, then plain keys, tables with their lists of tables, and lists of tables."""
    lines = [f"# {_one_line(question)}", "#"]
    for note in notes:
        lines += wrap(_one_line(note), _WIDTH, initial_indent="# - ", subsequent_indent="#   ", break_long_words=False)
    plain = (pair for pair in data.items() if not isinstance(pair[1], dict) and not _is_list_of_tables(pair[1]))
    lines += ["", *_pairs(dict(plain))]
    for name, value in data.items():
        if isinstance(value, dict) and value:
            lists = {inner: tables for inner, tables in value.items() if _is_list_of_tables(tables)}
            lines += ["", f"[{_key(name)}]", *_pairs({key: value[key] for key in value if key not in lists})]
            for inner, tables in lists.items():
                lines += _tables(f"{_key(name)}.{_key(inner)}", tables)
        elif _is_list_of_tables(value):
            lines += _tables(_key(name), value)
    return "\n".join(lines) + "\n"


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(inner, dict) for inner in value)


def _tables(name: str, tables: list[dict[str, Any]]) -> list[str]:
    return [line for table in tables for line in ("", f"[[{name}]]", *_pairs(table))]


def _pairs(table: dict[str, Any]) -> list[str]:
    width = max((len(_key(name)) for name in table if len(name) <= _WIDEST_KEY), default=0)
    return [f"{_key(name):<{width}} = {value_text(value)}" for name, value in table.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else value_text(name)


def value_text(value: Any) -> str:
    """A value as TOML has it on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {value_text(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(value_text, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    """A comment holds no control character: what came from a file could otherwise begin a line of its own."""
    return "".join(character if character.isprintable() else "?" for character in text)
