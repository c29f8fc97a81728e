"""The state of a process that measures, from the lines that it announces."""

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from windtunnel.engine.lines import LINE
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import readings_of, validate
from windtunnel.parts.ui.series import Series
from windtunnel.parts.ui.tenants import Tenants
from windtunnel.results.progress.progress import ANY_PHASE, Progress
from windtunnel.results.progress.study_progress import in_words
from windtunnel.results.status import Status, parsers
from windtunnel.runs import metrics
from windtunnel.runs.rows import StageRow, WorkloadRow
from windtunnel.runs.validity import Check, windows_of
from windtunnel.scenario.validity_keys import Validity as Limits

MOST_WINDOWS = 400
"""Windows of an engine that are kept for the checks: the last ones."""
MOST_RUNS = 2
"""Runs of a process that are kept: two alternate in a comparison. Ended runs are kept until others begin."""


@dataclass(frozen=True)
class Described:
    """A run as its process announces it."""

    title: str
    question: str
    notes: list[str]
    resolved: dict[str, Any]
    names: list[str]
    plans: list[Plan]


class WatchedRun:
    """One run, from its beginning on or from the time at which the reader connected. Raises ValueError for lines of another version."""

    def __init__(self, number: int, about: dict[str, Any]):
        plans = [Plan.model_validate(plan) for plan in about["plans"]]
        self._described = Described(
            about["title"], about["question"] or "", about["notes"], about["scenario"], about["names"], plans
        )
        self.number = number
        self.directory: str = about["directory"]
        self.progress = Progress(self._described)
        self.windows = {name: deque[Window](maxlen=MOST_WINDOWS) for name in about["names"]}
        self.series = Series()
        self.drops: dict[tuple[str, str, str], int] = {}
        """(endpoint, stage, reason) -> dropped packets over all windows that were read."""
        self.checks: list[Check] = []
        self.ended: dict[str, Any] | None = None
        self._limits = Limits.model_validate(about["scenario"].get("validity") or {})
        self._began_ns: int | None = None
        self._at_ns = 0

    def line(self, name: str, text: str) -> None:
        """A line of an engine."""
        line = LINE.validate_json(text)
        self.progress.line(name, line, text)
        if not isinstance(line, Window):
            return
        self.windows[name].append(line)
        self._count_drops(name, line)
        if line.phase != "hello":
            window_ns = self._described.plans[0].phases.window_ns
            if self._began_ns is None:
                self._began_ns = line.start_ns - line.index * window_ns
            self._at_ns = max(self._at_ns, line.end_ns)
        if line.workloads or len(self.windows) == 1:
            self.series.add(line, [workload.name for workload in self._described.plans[0].workloads])

    def _count_drops(self, name: str, window: Window) -> None:
        hello = next(engine.hello for engine in self.progress.record.engines if engine.name == name)
        for row in metrics.stage_rows([window], hello, ANY_PHASE) if hello else ():
            for reason, packets in (row.drops or {}).items():
                key = (row.endpoint, row.stage, reason)
                self.drops[key] = self.drops.get(key, 0) + packets

    @property
    def title(self) -> str:
        return self._described.title

    @property
    def question(self) -> str:
        return self._described.question

    @property
    def elapsed_s(self) -> float:
        """The run's own time up to its last window."""
        return 0.0 if self._began_ns is None else (self._at_ns - self._began_ns) / 1e9

    @property
    def share(self) -> float:
        """The elapsed share of the run, from 0 to 1."""
        return min(1.0, self.elapsed_s / self.progress.total_s) if self.progress.total_s else 0.0

    @property
    def time_left(self) -> str:
        """The time left as text; a run that has not settled goes on beyond its duration."""
        total = self.progress.total_s
        if self._began_ns is None:
            return f"{total:.1f} s once it begins"
        if self.elapsed_s > total and self.progress.phase == "measure":
            return f"not settled after {total:.1f} s: it goes on until it is"
        return f"{max(0.0, total - self.elapsed_s):.1f} s of {total:.1f} s"

    @property
    def stages(self) -> list[StageRow]:
        return self.progress.stages()

    @property
    def workloads(self) -> list[WorkloadRow]:
        return self.progress.workloads()

    def kept_windows(self) -> dict[str, list[Window]]:
        """The last windows of each engine."""
        return {name: list(windows) for name, windows in self.windows.items()}

    def judge(self, windows: dict[str, list[Window]], kept_readings: Readings) -> list[Check]:
        """The checks of the run by these windows; none before a window was measured. `kept_readings`: earlier readings of this host."""
        if not windows_of(windows):
            return []
        readings = Readings()
        readings.update(kept_readings)
        readings.update(readings_of(windows))
        return validate(self.progress.record.engines, windows, self._limits, readings).checks


@dataclass(frozen=True)
class CommandProgress:
    """The progress of a command with many runs, counted in `unit`."""

    done: int
    of: int | None
    """None: unknown."""
    unit: str
    left_s: float | None

    @property
    def text(self) -> str:
        """The progress as text, such as "12 of 60 runs, about 6 min left"."""
        done = f"{self.done} {self.unit}" if self.of is None else f"{self.done} of {self.of} {self.unit}"
        return done if self.left_s is None else f"{done}, about {in_words(self.left_s)} left"

    @property
    def share(self) -> float | None:
        return min(1.0, self.done / self.of) if self.of else None


@dataclass
class WatchedProcess:
    """A process and its runs, the last of them."""

    pid: int
    uid: int
    """pid and uid are those of the kernel."""
    about: dict[str, Any] = field(default_factory=dict)
    runs: dict[int, WatchedRun] = field(default_factory=dict)
    done: int = 0
    """Its runs that ended."""
    command_progress: CommandProgress | None = None
    statuses: dict[str, Status] = field(default_factory=dict)
    """The latest status of each name."""
    tenants: Tenants | None = None
    """Tenants of the share daemon."""
    gone: bool = False
    stopping: bool = False
    trouble: str | None = None
    """Why its lines cannot be shown."""

    def line(self, text: str) -> None:
        """Takes one line of its announcement. The first malformed one sets `trouble`."""
        if self.trouble:
            return
        try:
            self._take(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            kind = "another version of windtunnel" if isinstance(error, ValidationError) else "no lines of windtunnel"
            self.trouble = f"its output cannot be parsed: {kind}"

    def _take(self, line: dict[str, Any]) -> None:
        if "live" in line:
            self.about = line
            return
        if "progress" in line:
            self.command_progress = _COMMAND_PROGRESS.validate_python(line["progress"])
            return
        if name := next((name for name in parsers() if name in line), None):
            self.statuses[name] = parsers()[name](line[name])
            return
        number = int(line["run"])
        if "begins" in line:
            while len(self.runs) >= MOST_RUNS:
                del self.runs[min(self.runs)]
            self.runs = {n: run for n, run in self.runs.items() if run.ended is None}
            self.runs[number] = WatchedRun(number, line["begins"])
        elif "ended" in line:
            self.runs[number].ended = line["ended"]
            self.done += 1
        elif number in self.runs:
            name = line.pop("of")
            del line["run"]
            self.runs[number].line(name, json.dumps(line))

    @property
    def api(self) -> str | None:
        """The socket of the share daemon's API."""
        api = self.about.get("api")
        return api if isinstance(api, str) else None

    @property
    def kind(self) -> str:
        return str(self.about.get("kind", "process"))

    @property
    def command(self) -> str:
        return " ".join(map(str, self.about.get("command", ())))


_COMMAND_PROGRESS = TypeAdapter(CommandProgress)
