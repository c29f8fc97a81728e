"""Terminal tables that never cut a number: where there is no room, the least important columns are dropped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from windtunnel.format import DASH
from windtunnel.views.terminal.harmless import UNLIMITED, on_one_line

_WORDS_CELLS = 30
"""Of a column of words that stays, and may wrap, when it is asked what fits: a long name takes no number its column."""


@dataclass(frozen=True)
class Column:
    """A column and its cells, one a row. `spare`: the column with the highest value is dropped first; 0 stays."""

    head: str
    cells: Sequence[str | Text]
    spare: int = 0
    width: int = 0
    """Least width in cells, so that the columns of a live table stay where they are."""
    words: bool = False
    """Words are aligned left and may wrap. Numbers are aligned right and may not."""

    def spared(self) -> int:
        """As `spare`; a column with only dashes is dropped before all others."""
        empty = bool(self.cells) and not self.words and all(str(cell) == DASH for cell in self.cells)
        return UNLIMITED if empty else self.spare


class Fitting:
    """A table whose columns have equally many cells. A new section begins at each row in `sections`."""

    def __init__(self, columns: Sequence[Column], sections: Iterable[int] = ()):
        self.columns = columns
        self.sections = frozenset(sections)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = list(self.columns)
        unlimited = options.update(max_width=UNLIMITED)
        while (
            console.measure(self._table(shown, most_words=_WORDS_CELLS), options=unlimited).maximum > options.max_width
        ):
            least = max(column.spared() for column in shown)
            if least == 0:
                break
            shown = [column for column in shown if column.spared() < least]
        yield self._table(shown)

    def _table(self, columns: Sequence[Column], most_words: int | None = None) -> Table:
        table = plain_table()
        for column in columns:
            table.add_column(
                column.head,
                justify="left" if column.words else "right",
                no_wrap=not column.words,
                overflow="fold" if column.words else "ellipsis",
                min_width=column.width,
                max_width=most_words if column.words and not column.spare else None,
            )
        for row, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
            if row in self.sections:
                table.add_row()
            table.add_row(*cells)
        return table


class _Table(Table):
    """A table whose columns are as wide as what is shown of their cells."""

    def add_row(self, *cells: RenderableType | None, **layout: Any) -> None:
        super().add_row(*(on_one_line(cell) if isinstance(cell, str | Text) else cell for cell in cells), **layout)


def plain_table() -> Table:
    """A table with one rule, below the heads."""
    return _Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold", border_style="dim")
