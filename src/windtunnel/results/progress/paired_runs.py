"""Progress of two alternating scenarios: a bar with the remaining time on a terminal, otherwise a line for each run."""

import time
from typing import Self

from rich.console import RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from windtunnel.measure.compare.paired_runs import Turn
from windtunnel.results.terminal.console import progress

BAR_CELLS = 30
REDRAWS_PER_S = 4


class TurnsDisplay:
    """Context manager; `turn` is called before each run."""

    def __init__(self) -> None:
        self._console = progress()
        self._turn: Turn | None = None
        self._since = 0.0
        self._live = Live(
            get_renderable=self._line, console=self._console, refresh_per_second=REDRAWS_PER_S, transient=True
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def turn(self, turn: Turn) -> None:
        self._turn, self._since = turn, time.monotonic()
        if not self._console.is_terminal:
            self._console.out(
                f"{turn.done_pairs} of {turn.pairs} pairs: {turn.running}, {_minutes(turn.left_s)} left",
            )
            self._console.file.flush()

    def _line(self) -> RenderableType:
        if self._turn is None:
            return Text("…")
        passed = time.monotonic() - self._since
        left = max(self._turn.left_s - passed, 0.0)
        total = self._turn.left_s / max(1 - self._turn.done, 1e-9)
        line = Table.grid(padding=(0, 1))
        line.add_row(
            Text(f"{self._turn.done_pairs} of {self._turn.pairs} pairs, {self._turn.running}", style="cyan"),
            ProgressBar(total=total, completed=total - left, width=BAR_CELLS),
            Text(f"{_minutes(left)} left"),
            Text("Ctrl-C stops it and compares", style="dim", no_wrap=True, overflow="ellipsis"),
        )
        return line


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
