"""All rows of a run, whatever the number of its engines, and the document that `--json` prints."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import chain
from types import ModuleType
from typing import Any

from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import Window
from windtunnel.part_registry import part_modules
from windtunnel.runs import metrics, steps
from windtunnel.runs.phases import phase_rows
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import (
    HandlerCounterRow,
    LevelRow,
    PhaseRow,
    PortRow,
    Row,
    StageRow,
    StepRow,
    VariantRow,
    WorkerRow,
    WorkloadRow,
)
from windtunnel.runs.validity import windows_of
from windtunnel.runs.variants import variant_rows


@dataclass(frozen=True)
class Summary:
    """What a run measured, over its measured windows."""

    measured_s: float | None
    stages: list[StageRow]
    steps: list[StepRow]
    counters: list[HandlerCounterRow]
    workers: list[WorkerRow]
    ports: list[PortRow]
    workloads: list[WorkloadRow]
    phases: list[PhaseRow]
    variants: list[VariantRow]
    levels: list[LevelRow]
    parts: dict[str, list[Any]] = field(default_factory=dict)
    """The rows of each part, by their name."""

    def counts_packets(self, endpoint: str) -> bool:
        """Whether all stages of the endpoint count packets."""
        return not any(endpoint in part.other_objects(self.parts.get(part.NAME, ())) for part in _counting())

    def object_notes(self) -> list[str]:
        """What stages count if it is not packets."""
        return [part.OBJECTS for part in _counting() if part.other_objects(self.parts.get(part.NAME, ()))]

    def json(self) -> dict[str, Any]:
        """The summary for machines: the rows of parts stand beside the others."""
        document = asdict(self)
        of_parts: dict[str, Any] = document.pop("parts")
        return document | of_parts


def _counting() -> list[ModuleType]:
    """The parts whose stages may count other objects than packets."""
    return [part for part in part_modules("rows") if hasattr(part, "other_objects")]


def summarise(run: Run) -> Summary:
    """The rows of every engine, one after the other; an engine without a first line adds none."""
    if other := run.record.imported or run.record.observed:
        nothing: dict[str, list[Any]] = {part.NAME: [] for part in part_modules("rows")}
        return Summary(None, other.stages, [], [], [], other.ports, [], [], [], [], nothing)
    counted = run.counted
    engines = [(e, e.hello, counted[e.name]) for e in run.record.engines if e.hello]

    def rows(of_engine: Callable[[EngineRecord, Hello, list[Window]], Iterable[Row]]) -> list[Row]:
        return list(chain.from_iterable(of_engine(*engine) for engine in engines))

    stages = rows(
        lambda e, hello, windows: metrics.stage_rows(
            windows, hello, call_ticks=e.ready.timed_call_ticks if e.ready else None
        )
    )
    return Summary(
        measured_s=max((metrics.seconds(metrics.measured(windows)) for _, _, windows in engines), default=0.0),
        stages=sorted(stages, key=lambda row: row.endpoint),
        steps=rows(lambda e, hello, windows: steps.step_rows(windows, hello, e.ready)),
        counters=rows(lambda _, _hello, windows: steps.counter_rows(windows)),
        workers=rows(lambda _, _hello, windows: metrics.worker_rows(windows)),
        ports=sorted(rows(lambda _, _hello, windows: metrics.port_rows(windows)), key=lambda row: row.endpoint),
        workloads=rows(lambda e, _, windows: metrics.workload_rows(windows, [w.name for w in e.plan.workloads])),
        phases=rows(lambda e, _, windows: phase_rows(run.windows[e.name], e.plan, windows)),
        variants=variant_rows(run),
        levels=rows(lambda _, _hello, windows: metrics.level_rows(windows)),
        parts={
            part.NAME: [row for e, hello, windows in engines for row in part.rows_of(windows, hello, e.plan, e.result)]
            for part in part_modules("rows")
        },
    )


def rejected_words(run: Run) -> str:
    """Says from which windows the metrics of an invalid run are, and whether anything is wrong with these windows."""
    if run.record.observed:
        return "the metrics are rejected"
    all_of, used = windows_of(run.windows), windows_of(run.counted)
    windows = (
        f"all {all_of} measured windows" if used == all_of else f"the {used} windows of {all_of} that are not excluded"
    )
    message = f"the metrics are rejected; they are of {windows}"
    validity = run.record.validity
    if validity is None:
        return f"{message}, which were not checked"
    return message if validity.reasons else f"{message}, and no check of these windows failed"
