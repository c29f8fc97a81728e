"""The text of a scenario or a study with the new names of its keys. Comments, order and formatting stay as they are."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from windtunnel.scenario.positions import text_of
from windtunnel.scenario.renames import Names, is_study, new_key, new_text, renamed

QUOTES = "\"'"


@dataclass(frozen=True)
class Edit:
    """One name that is replaced."""

    line: int
    old: str
    new: str
    start: int
    """Position of the old name in the text's bytes, with its quotes if it has any."""
    end: int
    quote: str


class NotRewritten(Exception):
    """The old and the new name of a key both stand in the text."""

    def __init__(self, edit: Edit):
        super().__init__(f'"{edit.old}" and its new name "{edit.new}" are both in the file')
        self.line = edit.line


def migrated(text: str) -> tuple[str, list[Edit]]:
    """The new text and what was replaced in it. The text must be TOML. Raises NotRewritten."""
    data = tomllib.loads(text)
    raw = text.encode()
    root = Parser(Language(tree_sitter_toml.language())).parse(raw).root_node
    edits = sorted(_edits(root, is_study(data)), key=lambda edit: edit.start)
    new = _with(raw, edits)
    if edits and not _means(new, renamed(data)):
        raise NotRewritten(next((edit for edit in edits if not _is_toml(_with(raw, [edit]))), edits[0]))
    return new, edits


def _with(raw: bytes, edits: list[Edit]) -> str:
    for edit in reversed(edits):
        raw = raw[: edit.start] + f"{edit.quote}{edit.new}{edit.quote}".encode() + raw[edit.end :]
    return raw.decode()


def _means(text: str, data: dict[str, Any]) -> bool:
    return _is_toml(text) and repr(tomllib.loads(text)) == repr(data)  # texts, because nan differs from itself


def _is_toml(text: str) -> bool:
    """Whether the text is TOML; it is not if a key stands twice."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _edits(root: Node, study: bool) -> Iterator[Edit]:
    for node in root.named_children:
        if node.type == "pair":
            yield from _pair(node, (), study)
        elif node.type in ("table", "table_array_element"):
            key, *pairs = node.named_children
            table = tuple(_name(part) for part in _parts(key))
            for pair in pairs:
                if pair.type == "pair":
                    yield from _pair(pair, table, study)


def _pair(node: Node, table: Names, study: bool) -> Iterator[Edit]:
    key, *values = node.named_children
    path = table
    for part in _parts(key):
        name = _name(part)
        yield from _edit(part, name, new_key(path, name, study))
        path += (name,)
    for value in values:
        yield from _value(value, path, study)


def _value(node: Node, path: Names, study: bool) -> Iterator[Edit]:
    if node.type == "inline_table":
        for pair in node.named_children:
            if pair.type == "pair":
                yield from _pair(pair, path, study)
    elif node.type == "array":
        for entry in node.named_children:
            yield from _value(entry, path, study)
    elif node.type == "string":
        text = _string(node)
        yield from _edit(node, text, new_text(path, text, study))


def _edit(node: Node, old: str, new: str) -> Iterator[Edit]:
    if new != old:
        first = text_of(node)[:1]
        yield Edit(node.start_point.row + 1, old, new, node.start_byte, node.end_byte, first if first in QUOTES else "")


def _parts(key: Node) -> list[Node]:
    return [part for inner in key.named_children for part in _parts(inner)] if key.type == "dotted_key" else [key]


def _name(key: Node) -> str:
    name: str
    (name,) = tomllib.loads(f"{text_of(key)} = 0")
    return name


def _string(node: Node) -> str:
    value: str = tomllib.loads(f"value = {text_of(node)}")["value"]
    return value
