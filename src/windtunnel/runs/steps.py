"""Rows of handlers: their steps, and what they count themselves. The same rules as in `windtunnel.runs.metrics`."""

from collections.abc import Collection, Iterable

from windtunnel.engine.lines import Hello, Ready
from windtunnel.engine.windows import HandlerCounterWindow, StageWindow, StepWindow, Window
from windtunnel.runs.metrics import MEASURED, measured, ratio, seconds
from windtunnel.runs.rows import HandlerCounterRow, StepRow


def step_rows(
    windows: Iterable[Window], hello: Hello, ready: Ready | None, phases: Collection[str] = MEASURED
) -> list[StepRow]:
    """The steps of one engine's handlers, in the order in which a handler names them, and behind them those of its stage's copier."""
    chosen = measured(windows, phases)
    steps: dict[tuple[str, str, str, bool], list[StepWindow]] = {}
    stages: dict[tuple[str, str], list[StageWindow]] = {}
    for window in chosen:
        for step in window.steps:
            steps.setdefault((step.endpoint, step.stage, step.step, bool(step.copier)), []).append(step)
        for stage in window.stages:
            stages.setdefault((stage.endpoint, stage.stage), []).append(stage)
    stamp_ticks = ready.stamp_ticks if ready else None
    return [_step_row(members, stages[key[:2]], 1e9 / hello.tsc_hz, stamp_ticks) for key, members in steps.items()]


def _step_row(
    members: list[StepWindow], stages: list[StageWindow], tick_ns: float, stamp_ticks: float | None
) -> StepRow:
    first = members[0]
    # Other instances of the stage may have another handler, which is not in these steps.
    instances = {(step.index, step.worker) for step in members}
    of_stage = [stage for stage in stages if (stage.index, stage.worker) in instances]
    cycles, packets, stamps = (sum(getattr(step, name) for step in members) for name in ("cycles", "packets", "stamps"))
    objects = sum(stage.timed_objects for stage in of_stage)
    work = sum(stage.busy_cycles - stage.stall_cycles for stage in of_stage)
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
