"""Rows of handlers: their steps, and what they count themselves. The same rules as in `windtunnel.runs.metrics`."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from windtunnel.engine.lines import Hello, Ready
from windtunnel.engine.windows import HandlerCounterWindow, StageWindow, StepWindow, Window
from windtunnel.runs.metrics import MEASURED, measured, ratio, seconds
from windtunnel.runs.rows import HandlerCounterRow, StepRow

Instance = tuple[str, str, int, int]
"""Of a stage: endpoint, stage, index, worker."""


def step_rows(
    windows: Iterable[Window], hello: Hello, ready: Ready | None, phases: Collection[str] = MEASURED
) -> list[StepRow]:
    """The steps of one engine's handlers, in the order in which a handler names them, and behind them those of its stage's copier."""
    chosen = measured(windows, phases)
    steps: dict[tuple[str, str, str, bool], list[StepWindow]] = {}
    stages: dict[Instance, _Timed] = {}
    for window in chosen:
        for step in window.steps:
            steps.setdefault((step.endpoint, step.stage, step.step, bool(step.copier)), []).append(step)
        for stage in window.stages:
            stages.setdefault((stage.endpoint, stage.stage, stage.index, stage.worker), _Timed()).add(stage)
    stamp_ticks = ready.stamp_ticks if ready else None
    return [_step_row(members, stages, 1e9 / hello.tsc_hz, stamp_ticks) for members in steps.values()]


@dataclass
class _Timed:
    """What an instance of a stage did in timed calls, over all windows."""

    objects: int = 0
    work: int = 0
    """Cycles in which it did not stall."""

    def add(self, stage: StageWindow) -> None:
        self.objects += stage.timed_objects
        self.work += stage.busy_cycles - stage.stall_cycles


def _step_row(
    members: list[StepWindow], stages: Mapping[Instance, _Timed], tick_ns: float, stamp_ticks: float | None
) -> StepRow:
    first = members[0]
    # Other instances of the stage may have another handler, which is not in these steps.
    instances = {(step.endpoint, step.stage, step.index, step.worker) for step in members}
    of_stage = [stages[instance] for instance in instances if instance in stages]
    cycles, packets, stamps = (sum(getattr(step, name) for step in members) for name in ("cycles", "packets", "stamps"))
    objects, work = sum(stage.objects for stage in of_stage), sum(stage.work for stage in of_stage)
    return StepRow(
        endpoint=first.endpoint,
        stage=first.stage,
        step=first.step,
        traffic=first.traffic,
        copier=bool(first.copier),
        ns=ratio(cycles * tick_ns, packets),
        stamp_ns=None if stamp_ticks is None else ratio(stamps * stamp_ticks * tick_ns, packets),
        stage_ns=ratio(cycles * tick_ns, objects),
        share=None if first.traffic else ratio(cycles, work),
        packets_share=ratio(packets, objects),
    )


def counter_rows(windows: Iterable[Window], phases: Collection[str] = MEASURED) -> list[HandlerCounterRow]:
    """What the handlers of one engine counted, summed over their instances; levels as the last window left them."""
    chosen = measured(windows, phases)
    duration = seconds(chosen)
    groups: dict[tuple[str, ...], list[tuple[int, HandlerCounterWindow]]] = {}
    for place, window in enumerate(chosen):
        for counter in window.counters:
            key = (counter.endpoint, counter.stage, counter.of, counter.name)
            groups.setdefault(key, []).append((place, counter))
    rows = []
    for members in groups.values():
        first, last = members[0][1], members[-1][0]
        counts_up = first.kind != "level"
        value = sum(counter.value for place, counter in members if counts_up or place == last)
        rows.append(
            HandlerCounterRow(
                endpoint=first.endpoint,
                stage=first.stage,
                of=first.of,
                name=first.name,
                unit=first.unit,
                kind=first.kind,
                value=value,
                per_s=ratio(value, duration) if first.kind == "count" else None,
            )
        )
    return rows
