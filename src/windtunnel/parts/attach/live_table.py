"""An observation on a terminal: the threads of the last window, redrawn in place."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from windtunnel.parts.attach.blocks import thread_table
from windtunnel.parts.attach.lines import WindowLine
from windtunnel.parts.attach.thread_metrics import threads
from windtunnel.results.terminal.renderer import blocks_view

Listener = Callable[[WindowLine, float], None]
"""Gets a window, and the ticks of the TSC a second."""


@contextmanager
def live_table(console: Console, seconds: float) -> Iterator[Listener]:
    """Nothing is drawn if the console is no terminal. `seconds`: how long the observation lasts."""
    if not console.is_terminal:
        yield lambda _window, _tsc_hz: None
        return
    with Live(console=console, transient=True) as live:

        def draw(window: WindowLine, tsc_hz: float) -> None:
            left = Text(f"{window.end_ns / 1e9:.1f} of {seconds:.1f} s  Ctrl-C stops it", style="dim")
            excluded = [Text(f"excluded: {window.excluded}", style="yellow")] if window.excluded else []
            live.update(Group(left, *excluded, *blocks_view([thread_table(threads([window], tsc_hz))])), refresh=True)

        yield draw
