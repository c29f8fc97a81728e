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

from windtunnel.printing import harmless
from windtunnel.views.terminal.harmless import UNLIMITED, HarmlessConsole
from windtunnel.views.terminal.rejected import WORD, Rejected

_SPELLED_OUT = [
    (re.compile(pattern), shown)
    for pattern, shown in (
        ("<", "&lt;"),
        ("@", "@&#8203;"),  # a space of no width: who is mentioned is looked for in what has been rendered
        ("`", r"\\`"),
        (r"\](?=[(\[:])", r"]\\"),
        ("://", "&#58;//"),
        (r"\bwww\.", "www&#46;"),
    )
]
_RULES = {"right": "---:", "center": ":---:"}


class MarkdownConsole(HarmlessConsole):
    """A console that turns what it is given to print into Markdown, at any depth."""

    def __init__(self) -> None:
        super().__init__(width=UNLIMITED, color_system=None, force_terminal=False)
        self._rejected = False
        """What is rendered now is marked as rejected: its tables have a column for that."""

    def print(self, *objects: Any, **options: Any) -> None:
        with self.capture() as captured:
            super().print(*objects, **{"crop": False, **options})
        lines = re.sub(r"\n{3,}", "\n\n", harmless(captured.get())).split("\n")
        self.file.write("\n".join(map(_kept, lines, [*lines[1:], ""])))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        match renderable:
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
            case Text() if self._rejected and renderable:
                yield Segment(f"{WORD}  ")
                yield from super().render(renderable, options)
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
        escaped = _as_text(self._plain(cell).replace("\\", "\\\\")).replace("|", "\\|")
        return escaped.replace("\n", "<br>")

    def _plain(self, cell: RenderableType) -> str:
        options = self.options.update(no_wrap=True, overflow="ignore", justify="left")
        return "".join(segment.text for segment in super().render(cell, options)).strip()


def _kept(line: str, after: str) -> str:
    """A line as it is, in Markdown: two spaces keep its end where it would be joined with the next one."""
    if line.startswith("|"):
        return line
    plain = _as_text(line.rstrip())
    return f"{plain}  " if plain and after and not after.startswith("|") else plain


def _as_text(text: str) -> str:
    """What a title or a label says is neither HTML nor a link, an image, code, or the mention of somebody."""
    for pattern, shown in _SPELLED_OUT:
        text = pattern.sub(shown, text)
    return text
