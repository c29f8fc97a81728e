"""A table of what the engine knows, as handlers or wires: each with its options below it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windtunnel.results.document import Cell, Column, Marked, Sentence, Table


@dataclass(frozen=True)
class Option:
    name: str
    takes: str
    """Its values and its default."""
    help: str


@dataclass(frozen=True)
class Entry:
    name: str
    kind: str
    help: str
    options: Sequence[Option] = ()
    needs: str = ""
    """What the host must have; empty: nothing."""


def catalogue(heads: tuple[str, str, str], entries: Iterable[Entry]) -> Table:
    """The heads are those of the entries' name, kind and help."""
    rows: list[tuple[Cell, Cell, Cell]] = []
    for entry in entries:
        rows.append((Marked(entry.name, "subject", strong=True), entry.kind, entry.help))
        rows += [("", "", Marked(f"needs {entry.needs}", "quiet"))] if entry.needs else []
        rows += [("", "", _option(option)) for option in entry.options]
    columns = zip(*rows, strict=True) if rows else [(), (), ()]
    return Table([Column(head, cells, words=True) for head, cells in zip(heads, columns, strict=True)])


def _option(option: Option) -> Sentence:
    return Sentence(Marked(option.name, "subject"), Marked(f" ({option.takes})  ", "quiet"), option.help)
