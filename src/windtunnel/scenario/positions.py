"""Finds the line of a key. Only errors need it, so only errors pay for the second parser.

tomllib gives values without places; tree-sitter gives places and is lenient about the rest.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Path = tuple[str | int, ...]
"""Path of a value: keys, and positions in lists."""

DEEPEST = 8
"""No key of a scenario is as deep; a hostile one is not followed further."""


def line_of(text: str, path: Path) -> tuple[int, bool]:
    """Line, from 1, of the value at `path`, or of the nearest table around it that the text has; and whether it is the
    value itself."""
    return nearest_line(lines_of(text), path)


@lru_cache(maxsize=8)
def lines_of(text: str) -> Mapping[Path, int]:
    """The line, from 1, of everything that the text has. Those of the last eight texts are kept: a study asks once for each point."""
    return MappingProxyType(dict(_places(text)))


def nearest_line(lines: Mapping[Path, int], path: Path) -> tuple[int, bool]:
    """Returns what `line_of` does, for a text whose lines are known."""
    nearest = path
    while nearest and nearest not in lines:
        nearest = nearest[:-1]
    return lines.get(nearest, 1), nearest == path


def _places(text: str) -> Iterator[tuple[Path, int]]:
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    root = Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node
    arrays: dict[Path, int] = {}
    for node in root.named_children:
        if node.type == "pair":
            yield from _pair(node, ())
        elif node.type in ("table", "table_array_element"):
            key, *rest = node.named_children
            table = _into_arrays(_key(key), arrays, appends=node.type == "table_array_element")
            yield table, node.start_point.row + 1
            for pair in rest:
                if pair.type == "pair":
                    yield from _pair(pair, table)


def _into_arrays(key: Path, arrays: dict[Path, int], appends: bool) -> Path:
    """`workload.client` after the second [[workload]] means ("workload", 1, "client")."""
    path: Path = ()
    for depth, part in enumerate(key):
        path += (part,)
        if appends and depth == len(key) - 1:
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path += (arrays[path],)
    return path


def _pair(node: "Node", table: Path) -> Iterator[tuple[Path, int]]:
    key, *values = node.named_children
    path = table
    for part in _key(key):
        path += (part,)
        yield path, node.start_point.row + 1
    for value in values:
        yield from _value(value, path)


def _value(node: "Node", path: Path) -> Iterator[tuple[Path, int]]:
    if node.type == "inline_table":
        for pair in node.named_children:
            if pair.type == "pair":
                yield from _pair(pair, path)
    elif node.type == "array":
        values = [child for child in node.named_children if child.type != "comment"]
        for index, value in enumerate(values):
            yield (*path, index), value.start_point.row + 1
            yield from _value(value, (*path, index))


def text_of(node: "Node") -> str:
    return "" if node.text is None else node.text.decode()


def _key(node: "Node") -> Path:
    """A key as TOML means it; the text of one is a document of its own."""
    try:
        level = tomllib.loads(f"{text_of(node)} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    path: Path = ()
    while isinstance(level, dict) and len(path) < DEEPEST:
        ((part, level),) = level.items()
        path += (part,)
    return path
