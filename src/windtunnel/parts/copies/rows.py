"""Rows of copies: what copiers did for each workload. The same rules as in `windtunnel.runs.metrics`."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from windtunnel.engine.lines import Hello, Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.plan_values import Side
from windtunnel.engine.windows import StepWindow, Window
from windtunnel.parts.copies.cpu_costs import cpu_cycles
from windtunnel.parts.copies.ledger import CopierKind, CopyLedger
from windtunnel.parts.copies.ledger import copies_of as ledgers_of
from windtunnel.parts.copies.plan import copies_of
from windtunnel.parts.copies.window import CopyWindow, copies_in
from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.metrics import MEASURED, add, measured, ratio, seconds

NAME = "copies"
"""The rows' name in a summary."""
NOUN = "copies"
"""What their metrics are of."""
SUBMIT, POLL, BY_CPU = ("submit", "copy"), ("poll",), ("copy by CPU",)
"""Steps of a copier's stage: one that ends copies with their submit has the step "copy" for it."""


@dataclass(frozen=True)
class CopyRow:
    """How the bodies of one workload's requests came from their source, all its applications together."""

    workload: str
    engine: str
    """The copier; "none" if nothing is copied."""
    kind: CopierKind | None
    """Who moved the bytes; None: the engine gave no result."""
    device: str | None
    way: str
    copies: int
    uncopied: int
    by_cpu: dict[str, int]
    """Reason -> copies that the CPU made in the copier's place."""
    copies_by_cpu: int
    gbps: float | None
    share: float | None
    """None: no call that copied was timed."""
    most_gain: float | None
    submit_cycles: float | None
    poll_cycles: float | None
    by_cpu_cycles: float | None
    freed_cycles: float | None
    """Cycles freed by a copy that the copier took; negative if it costs more than it frees. None: not measured."""
    freed_share: float | None
    p50: int | None
    """ns from a copy's submit to the poll that found its end."""
    p99: int | None


def rows_of(
    windows: Iterable[Window], hello: Hello, plan: Plan, result: Result | None, phases: Collection[str] = MEASURED
) -> list[CopyRow]:
    """One a workload of one engine that has a copier, all its applications together."""
    ledgers = ledgers_of(result) if result else []
    chosen = measured(windows, phases)
    parts: dict[int, list[CopyWindow]] = {}
    for window in chosen:
        for part in copies_in(window):
            parts.setdefault(part.workload, []).append(part)
    return [
        _row(plan, members, chosen, hello, [ledger for ledger in ledgers if ledger.workload == workload])
        for workload, members in sorted(parts.items())
    ]


def _row(
    plan: Plan, members: list[CopyWindow], windows: list[Window], hello: Hello, ledgers: Sequence[CopyLedger]
) -> CopyRow:
    workload = plan.workloads[members[0].workload]
    copies = copies_of(workload)
    assert copies is not None
    applications, workers = {part.application for part in members}, {part.worker for part in members}
    side = members[0].endpoint
    steps = [step for window in windows for step in window.steps if _is_beside(step, side, applications)]
    marked = all(step.copier is not None for step in steps)
    steps = [step for step in steps if step.copier]
    timed = sum(worker.timed_cycles for window in windows for worker in window.workers if worker.worker in workers)
    moved = sum(part.bytes for part in members)
    by_cpu = add(part.by_cpu for part in members)
    completion = merge(part.completion for part in members)
    tick_ns = 1e9 / hello.tsc_hz
    p50, p99 = (None if (ticks := percentile(completion, p)) is None else round(ticks * tick_ns) for p in (50, 99))
    copied = sum(part.copies for part in members) + sum(by_cpu.values())
    is_timed = any(step.packets for step in steps)  # not if each call was above `interrupted_above`
    share = ratio(sum(step.cycles for step in steps), timed) if marked and (is_timed or not copied) else None
    submit_cycles, poll_cycles = _cycles(steps, SUBMIT), _cycles(steps, POLL)
    freed = _freed(members, ledgers, submit_cycles, poll_cycles)
    return CopyRow(
        workload=workload.name,
        engine="none" if copies.way == "zero" else copies.engine,
        kind=ledgers[0].kind if ledgers else None,
        device=ledgers[0].device if ledgers else None,
        way=copies.way,
        copies=sum(part.copies for part in members),
        uncopied=sum(part.uncopied for part in members),
        by_cpu=by_cpu,
        copies_by_cpu=sum(by_cpu.values()),
        gbps=ratio(moved * 8 / 1e9, seconds(windows)),
        share=share,
        most_gain=None if share is None else ratio(1.0, 1.0 - share),
        submit_cycles=submit_cycles,
        poll_cycles=poll_cycles,
        by_cpu_cycles=_cycles(steps, BY_CPU),
        freed_cycles=freed,
        freed_share=None if freed is None else ratio(freed * _packets(steps, POLL), timed),
        p50=p50,
        p99=p99,
    )


def _is_beside(step: StepWindow, side: Side, applications: Collection[int]) -> bool:
    """Whether it is of a stage that copies: app_tx of the client for requests, app_rx of the server for responses."""
    stage = "app_tx" if side == "client" else "app_rx"
    return (step.endpoint, step.stage) == (side, stage) and step.index in applications


def _cycles(steps: Sequence[StepWindow], names: Collection[str]) -> float | None:
    """Cycles of one copy in a step; None if none went through it in a timed call."""
    return ratio(sum(step.cycles for step in steps if step.step in names), _packets(steps, names))


def _packets(steps: Sequence[StepWindow], names: Collection[str]) -> int:
    return sum(step.packets for step in steps if step.step in names)


def _freed(
    members: Sequence[CopyWindow], ledgers: Sequence[CopyLedger], submit: float | None, poll: float | None
) -> float | None:
    """TSC cycles that one copy of the copier freed, on average. One that failed was made by the CPU after all, and freed none."""
    measured_costs = next((ledger.cpu_copies for ledger in ledgers if ledger.cpu_copies), None)
    by_cpu = cpu_cycles(measured_costs, merge(part.sizes for part in members))
    if by_cpu is None or submit is None or poll is None:
        return None
    well = sum(part.copies for part in members)
    ended = well + sum(part.by_cpu.get("failed", 0) for part in members)
    return by_cpu * well / ended - submit - poll


def by_workload(rows: Sequence[CopyRow]) -> dict[str, CopyRow]:
    """The row that a study's table has of each workload."""
    return {row.workload: row for row in rows}
