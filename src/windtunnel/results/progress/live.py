"""A run on a terminal: the stages of the last window, redrawn in place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from windtunnel.engine.lines import AnyLine
from windtunnel.results.document import Block
from windtunnel.results.progress.progress import Progress
from windtunnel.results.run.document import header
from windtunnel.results.run.machine import port_table
from windtunnel.results.run.stages import drop_lines, stage_table
from windtunnel.results.run.workloads import workload_table
from windtunnel.results.terminal.renderer import blocks_view, document_view

if TYPE_CHECKING:
    from windtunnel.engine.interrupts import Interrupts
    from windtunnel.scenario import RunSpec

REDRAWS_PER_S = 4
BAR_CELLS = 40
TALL_LINES = 36
"""A terminal with room for the header with its notes above two endpoints of six stages."""


class LiveDisplay:
    """Context manager and listener of the supervisor; restores the terminal for the final tables."""

    def __init__(self, spec: "RunSpec", console: Console, interrupts: "Interrupts", hints: Sequence[str] = ()):
        self._progress = Progress(spec)
        self._console = console
        self._interrupts = interrupts
        self._hints = hints
        self._live = Live(get_renderable=self._frame, console=console, refresh_per_second=REDRAWS_PER_S, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        self._progress.line(name, line, raw)

    def _frame(self) -> RenderableType:
        seen = self._progress
        tables: list[Block] = [workload_table(workloads)] if (workloads := seen.workloads()) else []
        if stages := seen.stages():
            tables += [stage_table(stages), *(drop_lines(stages) if self._tall else [])]
        elif ports := seen.ports():
            tables.append(port_table(ports))
        return Group(*self._header(), self._progress_line(), Text(), *blocks_view(tables))

    def _header(self) -> list[RenderableType]:
        """A low terminal shows only the title, the emulated faults and the limits that were relaxed."""
        record = self._progress.record
        relaxed = [Text(f"limits relaxed: {', '.join(record.relaxed)}", style="yellow")] if record.relaxed else []
        if self._tall:
            return [document_view(header(record)), *relaxed, *(Text(hint, style="dim") for hint in self._hints)]
        return [
            Text(record.title, style="bold"),
            *(Text(mark, style="bold magenta") for mark in record.emulated),
            *relaxed,
        ]

    @property
    def _tall(self) -> bool:
        return self._console.height >= TALL_LINES

    def _progress_line(self) -> RenderableType:
        seen = self._progress
        if not seen.running:
            return Text.assemble(("… ", "cyan"), seen.phase, ("  Ctrl-C stops it", "dim"))
        hints = {0: "Ctrl-C stops it", 1: "stopping; Ctrl-C again kills it"}
        line = Table.grid(padding=(0, 1))
        line.add_row(
            Text(f"{seen.phase:<7}", style="cyan"),
            ProgressBar(total=seen.total_s, completed=min(seen.elapsed_s, seen.total_s), width=BAR_CELLS),
            Text(seen.time_words),
            Text(hints.get(self._interrupts.count, "ending"), style="dim"),
        )
        return line
