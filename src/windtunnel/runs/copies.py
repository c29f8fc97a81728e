"""Rows of copies: what copiers did for each workload. The same rules as in `windtunnel.runs.metrics`."""

from collections.abc import Collection, Iterable, Sequence

from windtunnel.engine.lines import CopyLedger, CopyWindow, Hello, StepWindow, Window
from windtunnel.engine.plan import Plan
from windtunnel.engine.plan_values import Side
from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.metrics import MEASURED, add, measured, ratio, seconds
from windtunnel.runs.rows import CopyRow

SUBMIT, POLL, BY_CPU = ("submit", "copy"), ("poll",), ("copy by CPU",)
"""Steps of a copier's stage: one that ends copies with their submit has the step "copy" for it."""


def copy_rows(
    windows: Iterable[Window],
    hello: Hello,
    plan: Plan,
    ledgers: Sequence[CopyLedger],
    phases: Collection[str] = MEASURED,
) -> list[CopyRow]:
    """One a workload of one engine that has a copier, all its applications together."""
    chosen = measured(windows, phases)
    parts: dict[int, list[CopyWindow]] = {}
    for window in chosen:
        for part in window.copies:
            parts.setdefault(part.workload, []).append(part)
    return [
        _row(plan, members, chosen, hello, [each for each in ledgers if each.workload == workload])
        for workload, members in sorted(parts.items())
    ]


def _row(
    plan: Plan, members: list[CopyWindow], windows: list[Window], hello: Hello, ledgers: Sequence[CopyLedger]
) -> CopyRow:
    workload = plan.workloads[members[0].workload]
    assert workload.copies is not None
    applications, workers = {part.application for part in members}, {part.worker for part in members}
    side = members[0].endpoint
    steps = [step for window in windows for step in window.steps if _is_of(step, side, applications)]
    timed = sum(worker.timed_cycles for window in windows for worker in window.workers if worker.worker in workers)
    moved = sum(part.bytes for part in members)
    by_cpu = add(part.by_cpu for part in members)
    completion = merge(part.completion for part in members)
    tick_ns = 1e9 / hello.tsc_hz
    p50, p99 = (None if (ticks := percentile(completion, p)) is None else round(ticks * tick_ns) for p in (50, 99))
    share = ratio(sum(step.cycles for step in steps), timed)
    return CopyRow(
        workload=workload.name,
        engine="none" if workload.copies.way == "zero" else workload.copies.engine,
        kind=ledgers[0].kind if ledgers else None,
        device=ledgers[0].device if ledgers else None,
        way=workload.copies.way,
        copies=sum(part.copies for part in members),
        uncopied=sum(part.uncopied for part in members),
        by_cpu=by_cpu,
        copies_by_cpu=sum(by_cpu.values()),
        gbps=ratio(moved * 8 / 1e9, seconds(windows)),
        share=share,
        most_gain=None if share is None else ratio(1.0, 1.0 - share),
        submit_cycles=_cycles(steps, SUBMIT),
        poll_cycles=_cycles(steps, POLL),
        by_cpu_cycles=_cycles(steps, BY_CPU),
        p50=p50,
        p99=p99,
    )


def _is_of(step: StepWindow, side: Side, applications: Collection[int]) -> bool:
    """Requests are copied in app_tx of the client, responses in app_rx of the server, beside the handler's own steps."""
    stage = "app_tx" if side == "client" else "app_rx"
    its = step.step in (*SUBMIT, *POLL, *BY_CPU)
    return its and (step.endpoint, step.stage) == (side, stage) and step.index in applications


def _cycles(steps: Sequence[StepWindow], names: Collection[str]) -> float | None:
    """Of one copy in a step; None where none went through it in a timed call."""
    of = [step for step in steps if step.step in names]
    return ratio(sum(step.cycles for step in of), sum(step.packets for step in of))
