"""A run off a terminal: one line for each window, no control codes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windtunnel import format as fmt
from windtunnel.engine.lines import AnyLine, Phase, Ready
from windtunnel.engine.windows import Window
from windtunnel.results.progress.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.scenario import RunSpec


class PlainDisplay:
    """A listener of the supervisor that prints each line at once, with the values of windows below each other."""

    def __init__(self, spec: "RunSpec", console: "Console", hints: Sequence[str] = ()):
        self._progress = Progress(spec)
        self._console = console
        self._engine_width = max(map(len, spec.names)) if len(spec.names) > 1 else 0
        self._workload_width = max(len(workload.name) for plan in spec.plans for workload in plan.workloads)
        self._said = ""
        self._hints = hints

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        self._progress.line(name, line, raw)
        who = f"{name:<{self._engine_width}}  " if self._engine_width else ""
        match line:
            case Phase():
                self._say(f"{who}{line.name}")
            case Ready():
                self._say(f"{who}ready after {fmt.duration(line.at_ns)}")
                for hint in self._hints:
                    self._say(hint)
                self._hints = ()
            case Window():
                self._say(f"{who}{self._window(line)}")

    def _window(self, window: Window) -> str:
        seen = [f"{window.phase:<7} window {window.index:>3}"]
        sides = {port.endpoint for port in window.ports}
        for row in self._progress.ports():
            if row.endpoint in sides:
                rx, tx = fmt.number(row.rx_mpps, 3), fmt.number(row.tx_mpps, 3)
                seen.append(f"{row.endpoint} rx {rx:>6} tx {tx:>6} Mpps")
        for workload in self._progress.workloads() if window.workloads else []:
            p50, p99 = fmt.duration(workload.latency.p50), fmt.duration(workload.latency.p99)
            responses = fmt.rate(workload.responses_per_s)
            seen.append(f"{workload.workload:<{self._workload_width}} {responses:>8} p50 {p50:>7} p99 {p99:>7}")
        return "  ".join(seen)

    def _say(self, text: str) -> None:
        if text != self._said:  # a phase that several endpoints go through
            self._console.out(text)
            self._console.file.flush()
        self._said = text
