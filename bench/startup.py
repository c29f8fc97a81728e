"""How soon is the first window there, and how much memory does `echo` take?

scenarios/echo.toml as it is shipped, on whatever cores it chooses: from the start of the command to the first whole line of
windows.jsonl, warm-up included (its first window is one). Memory: the peaks of the engine's resident set, of its hugepages
and of the Python parent, added up; pages that both share count twice. Allocations: heap allocations on worker threads
after their start, as the engine watched them.
"""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.engine_run import COMMAND, read_run
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge

from windtunnel.errors import UserError
from windtunnel.runs import load

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "echo.toml"
STARTS = 5
POLL_S = 0.005
MIB = 1 << 20


@dataclass(frozen=True)
class Start:
    first_window_s: float
    engine_rss: int
    hugepages: int
    python_rss: int
    worker_allocations: int

    @property
    def memory(self) -> int:
        return self.engine_rss + self.hugepages + self.python_rss


def measure(session: Session) -> list[Result]:
    starts = []
    for number in range(STARTS):
        starts.append(start := _start(session, session.directory / f"start-{number}"))
        session.log(f"start {number + 1} of {STARTS}: {start.first_window_s:.2f} s, {start.memory / MIB:.0f} MiB")
    parts = ", ".join(
        f"{name} {max(values) / MIB:.0f}"
        for name, values in {
            "engine": [s.engine_rss for s in starts],
            "hugepages": [s.hugepages for s in starts],
            "python": [s.python_rss for s in starts],
        }.items()
    )
    return [
        _result(session, "first window after", [s.first_window_s for s in starts], "s", 2.0, starts),
        _result(session, "memory of echo", [s.memory / MIB for s in starts], "MiB", 300.0, starts, parts),
        _result(session, "allocations on workers", [s.worker_allocations for s in starts], "", 0.0, starts),
    ]


def _result(
    session: Session, name: str, values: list[float], unit: str, limit: float, starts: list[Start], parts: str = ""
) -> Result:
    spread, goal = extent(values), Goal(limit, "at most", least_samples=STARTS)
    details = {"starts": starts}
    return Result(name, session.memory, spread, unit, parts, goal=goal, verdict=judge(spread, goal), details=details)


def _start(session: Session, directory: Path) -> Start:
    command = [COMMAND, "run", SCENARIO, "--quiet", "--out", directory, "--set", f"memory={session.memory}"]
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    windows, first, python_rss = directory / "windows.jsonl", None, 0
    while process.poll() is None:
        if first is None and windows.is_file() and b"\n" in windows.read_bytes():
            first = time.monotonic() - begin
        python_rss = _peak_rss(process.pid) or python_rss
        time.sleep(POLL_S)
    if process.returncode != 0 or first is None:
        raise UserError(f"{SCENARIO.name} did not run: {process.stdout.read().strip()}")
    result = read_run(load(directory), None).engine.result
    if result.worker_allocations is None:
        raise UserError("the engine did not watch its allocations")
    return Start(first, result.peak_rss_bytes, result.hugepage_bytes, python_rss, result.worker_allocations)


def _peak_rss(pid: int) -> int | None:
    """VmHWM, bytes; None once the process has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None


if __name__ == "__main__":
    main(__doc__, measure)
