"""Metrics of an invalid run: grey on a terminal with colours, with a word on each line where there are none."""

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style

WORD = "rejected"


class Rejected:
    """What it holds, with a mark on the left of each line."""

    def __init__(self, shown: RenderableType):
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coloured = console.color_system is not None and not console.no_color
        mark = Segment("┃ ", Style(color="red")) if coloured else Segment(f"{WORD}  ")
        style = Style(dim=True) if coloured else None
        inner = options.update(max_width=max(options.max_width - len(mark.text), 1), height=None)
        for line in console.render_lines(self.shown, inner, pad=False):
            if any(segment.text.strip() for segment in line):
                yield mark
                yield from (Segment(segment.text, style or segment.style, segment.control) for segment in line)
            yield Segment.line()
