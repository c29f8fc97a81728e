"""Words from files on a terminal: nothing in them steers it."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment


def harmless(words: str) -> str:
    """The words with control characters spelled out: a title, a name or a path from a file may hold terminal escapes."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in words)


class HarmlessConsole(Console):
    """Every text that it is given, at any depth, is shown as by `harmless`. Its own styles and cursor movements are not texts."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable() or segment.text == "\n"
            yield segment if plain else Segment(harmless(segment.text), segment.style)
