"""Consoles on which no words from outside steer the terminal or are taken for markup."""

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from windtunnel.printing import exact, harmless


class HarmlessConsole(Console):
    """Every text that it is given, at any depth, is shown as by `harmless`, and is no markup: what has a style is a Text, or is given with one. Its
    own styles and cursor movements are not texts."""

    def __init__(self, **options: Any):
        own = {"file": exact(sys.stderr if options.get("stderr") else sys.stdout)}
        super().__init__(**own | {"markup": False, "emoji": False, "highlight": False} | options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            plain = segment.control or segment.text.isprintable() or segment.text == "\n"
            yield segment if plain else Segment(harmless(segment.text), segment.style)
