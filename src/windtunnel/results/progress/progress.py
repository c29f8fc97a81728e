"""The progress of a run, from the engine's lines."""

import time
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Protocol

from pydantic_core import to_jsonable_python

from windtunnel.engine.lines import AnyLine, Hello, Phase, Ready, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.runs import EngineRecord, Record, Verdict, metrics
from windtunnel.runs.record import DID_NOT_FINISH
from windtunnel.runs.rows import PortRow, StageRow, WorkloadRow

ANY_PHASE = ("warmup", "measure", "variant", "settle", "drain")


class Described(Protocol):
    """What is known of a run before its first line, as a RunSpec has it."""

    @property
    def title(self) -> str: ...
    @property
    def question(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def resolved(self) -> dict[str, Any]: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def plans(self) -> list[Plan]: ...


class Progress:
    """The state so far: engines, phase, and the last window of each engine."""

    def __init__(self, spec: Described):
        self.record = Record(
            title=spec.title,
            question=spec.question,
            started=datetime.now(UTC),
            verdict=Verdict(False, [DID_NOT_FINISH]),
            scenario=to_jsonable_python(spec.resolved),
            notes=list(spec.notes),
            host={},
            versions={},
            engines=[EngineRecord(name=n, plan=p) for n, p in zip(spec.names, spec.plans, strict=True)],
        )
        self._engines = {engine.name: engine for engine in self.record.engines}
        self._last: dict[str, Window] = {}
        self._first_window_at: float | None = None
        self.phase = "starting"
        plan, phases = spec.plans[0], spec.plans[0].phases
        self.total_s = (phases.warmup_ns + phases.duration_ns + plan.settling_ns(phases.duration_ns)) / 1e9
        self._window_s = phases.window_ns / 1e9

    def line(self, name: str, line: AnyLine, raw: str) -> None:
        """A listener of the supervisor."""
        match line:
            case Hello():
                self._engines[name].hello = line
            case Phase():
                self.phase = line.name
            case Ready():
                self._engines[name].ready = line
            case Window():
                self._last[name] = line
                self.phase = line.phase
                if self._first_window_at is None and line.phase != "hello":
                    self._first_window_at = time.monotonic() - (line.end_ns - line.start_ns) / 1e9
            case Result():
                self.phase = "ending"

    @property
    def running(self) -> bool:
        """Whether there has been a window."""
        return self._first_window_at is not None

    @property
    def elapsed_s(self) -> float:
        """Since the first window began; 0 before."""
        return 0.0 if self._first_window_at is None else time.monotonic() - self._first_window_at

    @property
    def time_words(self) -> str:
        """As in "2.1 of 3.5 s"; of a run that goes on until it settles "5.2 s, not settled after 3.5 s"."""
        if self.phase == "measure" and self.elapsed_s > self.total_s + self._window_s:
            return f"{self.elapsed_s:.1f} s, not settled after {self.total_s:.1f} s"
        return f"{min(self.elapsed_s, self.total_s):.1f} of {self.total_s:.1f} s"

    def stages(self) -> list[StageRow]:
        """Of the last window; several engines' stages by endpoint."""
        windows = self._windows()
        rows = chain.from_iterable(metrics.stage_rows([w], e.hello, ANY_PHASE) for e, w in windows if e.hello)
        return sorted(rows, key=lambda row: row.endpoint)

    def ports(self) -> list[PortRow]:
        rows = chain.from_iterable(metrics.port_rows([w], ANY_PHASE) for _, w in self._windows())
        return sorted(rows, key=lambda row: row.endpoint)

    def workloads(self) -> list[WorkloadRow]:
        named = ((w, [workload.name for workload in e.plan.workloads]) for e, w in self._windows())
        return list(chain.from_iterable(metrics.workload_rows([w], names, ANY_PHASE) for w, names in named))

    def _windows(self) -> list[tuple[EngineRecord, Window]]:
        return [(e, self._last[e.name]) for e in self.record.engines if e.name in self._last and e.hello]
