"""Results as Markdown: tables as pipe tables, of all columns and unwrapped; what stands around them as plain lines."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from windtunnel.views.terminal.harmless import UNLIMITED, HarmlessConsole, on_one_line
from windtunnel.views.terminal.rejected import WORD, Rejected

_SPELLED_OUT = [
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"[\\`*|~$]", r"\\\g<0>"),
        (r"(?<![^\W_])_|_(?![^\W_])", r"\_"),  # not one within a word
        (r"\](?=[(\[:])", r"]\\"),
        ("&", "&amp;"),
        (
            r"#(?=\d)",
            "#&#8203;",
        ),  # a space of no width: issues, and who is mentioned, are looked for in what has been rendered
        (r"(?i)(?<=GH)-(?=\d)", "&#45;"),
        ("<", "&lt;"),
        ("@", "@&#8203;"),
        ("://", "&#58;//"),
        (r"(?i)(www)\.", r"\1&#46;"),
    )
]
"""What stands in a text for something else than itself, wherever it is."""
_BEGINS = re.compile(r"(?:(?=[#>=+:-])|\d+(?=[.)](?:\s|$)))")
"""Before what makes a heading, a quotation, a list, a rule or the rule of a table of a line that begins with it."""
_RULES = {"right": "---:", "center": ":---:"}


class MarkdownConsole(HarmlessConsole):
    """A console that turns what it is given to print into Markdown, at any depth. Every text becomes one that stands for itself: what else a line
    has, as the bars of a table's row, comes from here."""

    def __init__(self) -> None:
        super().__init__(width=UNLIMITED, color_system=None, force_terminal=False)
        self._rejected = False
        """What is rendered now is marked as rejected: its tables have a column for that."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as captured:
            super().print(*objects, **{"crop": False, **options})
        lines = re.sub(r"\n{3,}", "\n\n", captured.get()).split("\n")
        self.file.write("\n".join(map(_line, lines, [*lines[1:], ""])))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        match renderable:
            case str() | Text():
                text = on_one_line(renderable).plain
                yield from super().render(_as_text(f"{WORD}  {text}" if text and self._rejected else text), options)
            case Table():
                lines = self._pipe_table(renderable) if renderable.show_header else self._rows(renderable)
                yield from (Segment(f"{line}\n") for line in lines)
            case Padding():  # four spaces would make code of it
                yield from self.render(renderable.renderable, options)
            case Panel():
                yield Segment(f"**{self._plain(renderable.title or '')}**\n\n")
                yield from self.render(renderable.renderable, options)
            case Rejected():
                self._rejected = True
                yield from self.render(renderable.shown, options)
                self._rejected = False
            case _:
                yield from super().render(renderable, options)

    def _pipe_table(self, table: Table) -> Iterator[str]:
        """With an empty line before and after: else it is no table but a part of the paragraph."""
        yield ""
        yield self._row([column.header for column in table.columns], mark="")
        yield self._row([_RULES.get(column.justify, "---") for column in table.columns], mark="---")
        for cells in zip(*(column.cells for column in table.columns), strict=True):
            if any(cells):  # one without divides two sections
                yield self._row(cells, mark=WORD)
        yield ""

    def _row(self, cells: Iterable[RenderableType], mark: str) -> str:
        marks = [mark] if self._rejected else []
        return f"| {' | '.join([*marks, *map(self._cell, cells)])} |"

    def _rows(self, grid: Table) -> Iterator[str]:
        """A table without heads is a way to place texts."""
        for cells in zip(*(column.cells for column in grid.columns), strict=True):
            yield " ".join(filter(None, map(self._plain, cells)))

    def _cell(self, cell: RenderableType) -> str:
        return self._plain(cell).replace("\n", "<br>")

    def _plain(self, cell: RenderableType) -> str:
        options = self.options.update(no_wrap=True, overflow="ignore", justify="left")
        marked, self._rejected = self._rejected, False  # its row is
        shown = "".join(segment.text for segment in self.render(cell, options)).strip()
        self._rejected = marked
        return shown


def _line(line: str, after: str) -> str:
    """A line that is no more than its texts, except for a row, which alone begins with a bar: two spaces keep its end where it would be joined
    with the next one."""
    if line.startswith("|"):
        return line
    plain = line.strip()  # four spaces before it would make code of it
    if begins := _BEGINS.match(plain):
        plain = f"{begins[0]}\\{plain[begins.end() :]}"
    return f"{plain}  " if plain and after and not after.startswith("|") else plain


def _as_text(text: str) -> str:
    """What a title or a label says is neither HTML nor a link, an image, code, or the mention of somebody."""
    for pattern, shown in _SPELLED_OUT:
        text = pattern.sub(shown, text)
    return text
