"""A document in a terminal: what fits, in colours that a tone stands for."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel as RichPanel
from rich.segment import Segment
from rich.style import Style
from rich.table import Table as Grid
from rich.text import Text

from windtunnel.format import DASH
from windtunnel.results.document import (
    Bar,
    Block,
    Cell,
    Column,
    Document,
    Marked,
    Panel,
    Rejected,
    Section,
    Sentence,
    Table,
    Tone,
)
from windtunnel.results.terminal.harmless import UNLIMITED, on_one_line

STYLES: Mapping[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "good": "green",
    "warning": "yellow",
    "bad": "red",
    "emulated": "magenta",
    "subject": "cyan",
    "waits": "yellow",
    "loss": "red",
}
REJECTED = "rejected"
_LEAST_HEAD = 8
"""Cells to which the heads of numbers wrap at most, if there is no room."""
_WHOLE_WORD = 14
"""Longest word of a head that is not broken; longer ones are names, as of a run's directory."""
_WORDS_CELLS = 30
"""Of a column of words that stays, and may wrap, when it is asked what fits: a long name takes no number its column."""


def document_view(document: Document) -> RenderableType:
    """Everything that a terminal shows of it, the verdict last."""
    head: list[RenderableType] = [Text(document.title, style="bold")]
    head += [Text(document.question, style="italic")] if document.question else []
    head += [Text(" · ".join(document.how), style="dim")] if document.how else []
    head += [Text(words, style="bold magenta") for words in document.emulated]
    head += [Text(f"note: {note}", style="dim") for note in document.notes]
    body = blocks_view(document.blocks)
    end: list[RenderableType] = [Text(f"note: {words}", style="dim") for words in document.footnotes]
    end += [Text(f"warning: {words}", style="yellow") for words in document.warnings]
    end += _verdict(document.verdict)
    end += [files_view(document.files)] if document.files else []
    parts = [Group(*part) for part in (head, body, end) if part]
    return Group(*_separated(parts))


def blocks_view(blocks: Sequence[Block]) -> list[RenderableType]:
    """The blocks, with an empty line between sections and between tables."""
    shown = [(block, view) for block in blocks if (view := _view(block)) is not None]
    if not shown:
        return []
    lines: list[RenderableType] = [shown[0][1]]
    for (before, _), (block, view) in pairwise(shown):
        lines += [Text(), view] if _apart(before, block) else [view]
    return lines


def files_view(files: Sequence[tuple[str, str]]) -> RenderableType:
    """Where something was written: one line each, which no terminal wraps."""
    width = max(len(label) for label, _ in files) + 1
    return Group(*(_Whole(Text.assemble((f"{label:<{width}}", "dim"), path)) for label, path in files))


def sentence_view(sentence: Sentence) -> Text:
    return Text.assemble(*(_text(part) for part in sentence.parts), overflow="fold")


class FittingTable:
    """A table that never cuts a number: if there is no room, the least important columns are dropped, and then heads that are wider than the
    numbers below them wrap."""

    def __init__(self, table: Table):
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = list(self.table.columns)
        widest_head = max((cell_len(column.head) for column in shown), default=0)

        def fits(most_head: int) -> bool:
            grid = self._grid(shown, most_head, _WORDS_CELLS)
            return console.measure(grid, options=options.update(max_width=UNLIMITED)).maximum <= options.max_width

        while not (whole := fits(widest_head)):
            least = max(_spared(column) for column in shown)
            if least == 0:
                break
            shown = [column for column in shown if _spared(column) < least]
        most_head = widest_head
        if not whole:
            too_wide = bisect_left(range(_LEAST_HEAD, widest_head), True, key=lambda most_head: not fits(most_head))
            most_head = _LEAST_HEAD + max(too_wide - 1, 0)
        yield self._grid(shown, most_head)

    def _grid(self, columns: Sequence[Column], most_head: int, most_words: int | None = None) -> Grid:
        """Heads that are wider than the numbers below them, and than `most_head`, wrap."""
        grid = Grid(
            box=SIMPLE_HEAD,
            show_header=self.table.headed,
            show_edge=False,
            padding=(0, 1, 0, 0),
            header_style="bold",
            border_style="dim",
        )
        texts = [[on_one_line(_cell(cell)) for cell in column.cells] for column in columns]
        for column, of_column in zip(columns, texts, strict=True):
            head = on_one_line(column.head)
            longest_word = max((n for n in map(cell_len, head.plain.split()) if n <= _WHOLE_WORD), default=0)
            numbers = max((text.cell_len for text in of_column), default=0)
            width = max(column.width, most_head, longest_word, numbers)
            wraps = column.words or head.cell_len > width
            grid.add_column(
                head,
                justify="left" if column.words else "right",
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
                min_width=column.width if column.words else max(column.width, longest_word, numbers),
                max_width=(None if column.spare else most_words) if column.words else width,
            )
        begins = {group for group in self.table.groups if group}
        for row, cells in enumerate(zip(*texts, strict=True)):
            if row in begins:
                grid.add_row()
            grid.add_row(*cells)
        return grid


class RejectedLines:
    """Metrics of an invalid run, with a mark on the left of each line: grey on a terminal with colours, a word where there are none."""

    def __init__(self, shown: RenderableType):
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system is not None and not console.no_color
        mark = Segment("┃ ", Style(color="red")) if coloured else Segment(f"{REJECTED}  ")
        style = Style(dim=True) if coloured else None
        inner = options.update(max_width=max(options.max_width - len(mark.text), 1), height=None)
        for line in console.render_lines(self.shown, inner, pad=False):
            if any(segment.text.strip() for segment in line):
                yield mark
                yield from (Segment(segment.text, style or segment.style, segment.control) for segment in line)
            yield Segment.line()


class _Whole:
    """A line that is not wrapped by us: a path can be copied."""

    def __init__(self, text: Text):
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.text, options.update(max_width=UNLIMITED, no_wrap=True, overflow="ignore"))


def _view(block: Block) -> RenderableType | None:
    """None: nothing of it is for terminals."""
    match block:
        case Sentence(detail=False):
            return _Whole(sentence_view(block)) if block.unwrapped else sentence_view(block)
        case Table(detail=False):
            return FittingTable(block)
        case Panel():
            return _frame(block)
        case Rejected():
            return RejectedLines(Group(*blocks_view(block.blocks)))
        case Section(terminal="titled" | "untitled"):
            body = blocks_view(block.blocks)
            title = [Text(block.title, style="bold")] if block.terminal == "titled" else []
            return Group(*title, *body) if body else None
        case _:
            return None


def _apart(before: Block, block: Block) -> bool:
    """Whether an empty line is between the two."""
    if isinstance(before, Section | Rejected | Panel) or isinstance(block, Section | Rejected | Panel):
        return True
    return isinstance(before, Table) and isinstance(block, Table)


def _separated(parts: Sequence[RenderableType]) -> Iterator[RenderableType]:
    for n, part in enumerate(parts):
        if n:
            yield Text()
        yield part


def _verdict(verdict: Sentence | Panel | None) -> list[RenderableType]:
    if verdict is None:
        return []
    return [_frame(verdict) if isinstance(verdict, Panel) else sentence_view(verdict)]


def _frame(panel: Panel) -> RichPanel:
    mark = ["• "] if panel.itemized else []
    lines = Group(*(Text.assemble(*mark, sentence_view(sentence)) for sentence in panel.sentences))
    return RichPanel(
        lines, title=Text(panel.title), title_align="left", border_style=STYLES[panel.tone] or "none", expand=False
    )


def _spared(column: Column) -> int:
    """As `spare`; a column with only dashes is dropped before all others."""
    empty = bool(column.cells) and not column.words and all(_cell(cell).plain == DASH for cell in column.cells)
    return UNLIMITED if empty else column.spare


def _cell(cell: Cell) -> Text:
    match cell:
        case str():
            return Text(cell)
        case Marked():
            return _text(cell)
        case Sentence():
            return sentence_view(cell)
        case Bar():
            return _bar(cell)


def _text(part: Marked) -> Text:
    return Text(part.text, style=f"{'bold ' if part.strong else ''}{STYLES[part.tone]}".strip())


def _bar(bar: Bar) -> Text:
    parts: list[tuple[str, str]] = []
    total, cells = 0.0, 0
    for share, tone in bar.drawn:
        total += share
        parts.append(("━" * (round(total * bar.cells) - cells), STYLES[tone]))
        cells = round(total * bar.cells)
    return Text.assemble(*parts, ("─" * (bar.cells - cells), "bright_black"))
