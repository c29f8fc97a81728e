"""A flight on something that is no terminal: one line a window, no control codes."""

from typing import TYPE_CHECKING

from windtunnel.cli.progress import Progress
from windtunnel.engine.lines import AnyLine, Phase, Ready, Window
from windtunnel.runs import format as fmt

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.scenario import Flight


class PlainDisplay:
    """A listener of the supervisor that prints what it hears, at once."""

    def __init__(self, flight: "Flight", console: "Console"):
        self._progress = Progress(flight)
        self._console = console
        self._several = len(flight.names) > 1

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        self._progress.line(name, line, raw)
        who = f"{name}: " if self._several else ""
        match line:
            case Phase():
                self._say(f"{who}{line.name}")
            case Ready():
                self._say(f"{who}ready after {fmt.duration(line.at_ns)}")
            case Window():
                self._say(f"{who}{self._window(line)}")

    def _window(self, window: Window) -> str:
        seen = [f"{window.phase:<7} window {window.index:>3}"]
        sides = {port.endpoint for port in window.ports}
        for row in self._progress.ports():
            if row.endpoint in sides:
                seen.append(f"{row.endpoint} rx {fmt.number(row.rx_mpps, 3)} tx {fmt.number(row.tx_mpps, 3)} Mpps")
        for row in self._progress.workloads() if window.workloads else []:
            p50, p99 = fmt.duration(row.latency.p50), fmt.duration(row.latency.p99)
            seen.append(f"{row.workload} {fmt.rate(row.answered_per_s)} p50 {p50} p99 {p99}")
        return "  ".join(seen)

    def _say(self, text: str) -> None:
        self._console.out(text, highlight=False)
        self._console.file.flush()
