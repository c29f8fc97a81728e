"""Consoles on which no words from outside steer the terminal, are taken for markup, or begin a line of their own."""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from windtunnel.printing import exact, harmless, one_line

UNLIMITED = 10_000
"""Width off a terminal, in cells: tables take the width that they need, and drop no column."""


class HarmlessConsole(Console):
    """Every text that it is given, at any depth, is shown as by `one_line`, and is no markup: what has a style is a Text, or is given with one, and
    what has several lines of ours is a Group. Its own styles and cursor movements are not texts. Off a terminal a text is not wrapped, because
    the rest of it would begin a line: what is wider than the console is cut, and ends in "…"."""

    def __init__(self, **options: Any):
        own = {"file": exact(sys.stderr if options.get("stderr") else sys.stdout)}
        super().__init__(**own | {"markup": False, "emoji": False, "highlight": False} | options)
        if not self.is_terminal and "width" not in options:
            self.width = UNLIMITED

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        if isinstance(renderable, str | Text):
            renderable = on_one_line(renderable)
            if not self.is_terminal and not (options or self.options).no_wrap:
                renderable = renderable.copy()
                renderable.no_wrap, renderable.overflow = True, "ellipsis"
        line = ""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
                continue
            shown = harmless(line + segment.text)[len(line) :]  # another line begins where a text was wrapped
            line = (line + shown).rpartition("\n")[2]
            yield segment if shown == segment.text else Segment(shown, segment.style)


def on_one_line(text: str | Text) -> Text:
    """The text with its styles, as `one_line` shows it: also what a table measures, so that its columns have the width of what is shown."""
    if isinstance(text, str):
        return Text(one_line(text))
    plain = text.plain
    if (shown := one_line(plain)) == plain:
        return text
    made = text.blank_copy(shown)
    made.spans = [Span(len(one_line(plain[: s.start])), len(one_line(plain[: s.end])), s.style) for s in text.spans]
    return made
