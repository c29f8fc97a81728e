"""What a run shows of its own validity: host states, checks, excluded windows, and ledgers."""

from collections.abc import Iterator, Sequence
from typing import Any

from windtunnel import format as fmt
from windtunnel.engine.verdict import Verdict
from windtunnel.part_registry import part_functions
from windtunnel.results.document import (
    Block,
    Column,
    Fold,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
)
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.validity import Validity, windows_of

_TONES: dict[str, Tone] = {"good": "plain", "note": "quiet", "unknown": "quiet", "warning": "warning", "bad": "bad"}


def reasons_panel(verdict: Verdict, what_follows: str) -> Panel:
    """Why a run is invalid, and what that means for its metrics, in words."""
    return Panel(f"invalid: {what_follows}", [Sentence(reason) for reason in verdict.reasons], "bad", itemized=True)


def verdict_sentence(run: Run) -> Sentence:
    """The verdict: with the limits that the scenario relaxed, and the number of windows if some are excluded."""
    record = run.record
    if record.imported:
        words = f"imported: the values are from {record.imported.tool}; Windtunnel did not measure or check them"
        return Sentence(Marked(words, "emulated", strong=True))
    if record.observed and record.verdict.valid:
        words = f"observed: {record.observed.program} is another program, which Windtunnel did not start or configure"
        return Sentence("verdict: ", Marked(words, "good", strong=True))
    if not record.verdict.valid:
        relaxed = f"; limits relaxed: {', '.join(record.relaxed)}" if record.relaxed else ""
        words = "invalid, its metrics are rejected" if run.rejected else "invalid"
        return Sentence("verdict: ", Marked(words, "bad", strong=True), relaxed)
    tone: Tone = "warning" if record.relaxed else "good"
    finished, used = windows_of(run.windows), windows_of(run.counted)
    relaxed = f" ({', '.join(record.relaxed)})" if record.relaxed else ""
    over = f", over {used} of {finished} windows" if used < finished else ""
    return Sentence("verdict: ", Marked(f"{record.verdict_words}{relaxed}", tone, strong=True), over)


def state_sections(validity: Validity | None, two_hosts: bool) -> Iterator[Section]:
    """Host states of the run, with what was measured in each; one alone is a line. Then whether the run settled."""
    if validity is None:
        return
    blocks: list[Block] = list(_states(validity)) if validity.states else []
    blocks += [Sentence(validity.settled_words, tone="quiet")] if validity.settled_words else []
    if blocks:
        yield Section(
            "Host states",
            blocks,
            about=_about_states(validity, two_hosts),
        )


def _about_states(validity: Validity, two_hosts: bool) -> str:
    if not validity.states:
        return ""
    of = (
        f"one state{' of each host' if two_hosts else ''}: {validity.headline}"
        if validity.headline
        else "windows of all states"
    )
    return (
        "A virtual CPU moves between cores, and what two CPUs share decides what a hand-over between them costs. All metrics are of "
        f"{of}."
    )


def _states(validity: Validity) -> Iterator[Block]:
    rows = validity.states
    if len(rows) == 1:
        yield Sentence(f"host state: {rows[0].words}", tone="quiet")
    column = columns_of(rows)
    workloads = list(rows[0].responses_per_s)
    of = {name: f"{name} " if len(workloads) > 1 else "" for name in workloads}
    yield Table(
        [
            column("host state", lambda s: f"{s.name}  (metrics)" if validity.of_metrics(s) else s.name, words=True),
            column("windows", lambda s: str(s.windows)),
            column("line", lambda s: fmt.number(s.line_ns, 0) + " ns" if s.line_ns else fmt.DASH),
            *(column(f"{of[n]}responses", lambda s, n=n: fmt.rate(s.responses_per_s.get(n))) for n in workloads),
            *(column(f"{of[n]}p50", lambda s, n=n: fmt.duration(s.p50_ns.get(n))) for n in workloads),
        ],
        detail=len(rows) == 1,
    )
    if len({state.name.partition(" [")[0].partition(", ")[0] for state in rows}) > 1:
        yield _stage_times(validity)


def _stage_times(validity: Validity) -> Table:
    """What a packet costs in each stage, in each state: what two L3s cost against one."""
    column = columns_of(validity.stages)
    return Table(
        [
            column("work and stall, ns per packet", lambda stage: stage, words=True),
            *(column(s.name, lambda stage, s=s: fmt.number(s.stage_ns.get(stage))) for s in validity.states),
        ]
    )


def check_section(validity: Validity | None) -> Iterator[Section]:
    """What the run checked of itself, and the windows that are in no metric."""
    if validity is None:
        return
    column = columns_of(validity.checks)
    checks = Table(
        [
            column("check", lambda c: c.name, words=True),
            column("state", lambda c: Marked(c.state, _TONES[c.state]), words=True),
            column("what was seen", lambda c: c.words, words=True),
        ]
    )
    excluded = [Fold(f"{len(validity.excluded)} windows excluded", [_excluded(validity)])] if validity.excluded else []
    yield Section(
        "Validity",
        [checks, *excluded],
        about="A bad check makes the run invalid. Windows that the host affected stay in the record. No metric of a valid run uses them.",
        terminal="absent",
    )


def _excluded(validity: Validity) -> Table:
    column = columns_of(validity.excluded)
    return Table(
        [
            column("engine", lambda w: w.engine, words=True),
            column("window", lambda w: str(w.window)),
            column("why", lambda w: "; ".join(w.reasons), words=True),
        ]
    )


def ledger_section(engines: Sequence[EngineRecord]) -> Iterator[Section]:
    """Whether mbufs, packets and messages are all accounted for, with the ledgers."""
    if not engines:
        return
    blocks: list[Block] = [_ledger_line(engines)]
    for engine in engines:
        if engine.result:
            blocks += [Sentence(f"of {engine.name}", detail=True)] if len(engines) > 1 else []
            blocks += _ledgers(engine)
    yield Section(
        "Ledger", blocks, about="Over the whole run, warm-up and drain included. Anything missing makes a run invalid."
    )


def _ledger_line(engines: Sequence[EngineRecord]) -> Sentence:
    missing = missing_of(engines)
    if missing is None:
        return Sentence("ledger: none, an engine gave no result", tone="bad")
    if missing:
        return Sentence("ledger open: " + ", ".join(missing), tone="bad")
    return Sentence("ledger: closed, every mbuf, packet and message accounted for", tone="good")


def missing_of(engines: Sequence[EngineRecord]) -> list[str] | None:
    """The missing objects of the ledgers, in words; None where an engine gave no result."""
    missing: list[str] = []
    for engine in engines:
        if engine.result is None:
            return None
        names = [workload.name for workload in engine.plan.workloads]
        missing += [f"{m.missing:,} mbufs of the {m.endpoint}" for m in engine.result.mbufs if m.missing]
        missing += [f"{p.missing:,} packets from the {p.source}" for p in engine.result.packets if p.missing]
        missing += [f"{m.missing:,} messages of {names[m.workload]}" for m in engine.result.messages if m.missing]
        missing += [
            text for of_part in part_functions("blocks", "missing") for text in of_part(engine.plan, engine.result)
        ]
    return missing


def _ledgers(engine: EngineRecord) -> Iterator[Table]:
    """A table each of messages, packets and mbufs."""
    result = engine.result
    assert result is not None
    if result.messages:
        names = [engine.plan.workloads[row.workload].name for row in result.messages]
        fields = ("offered", "sent", "responses", "lost", "late", "in_flight")
        yield _ledger("messages of", names, result.messages, fields)
    if result.packets:
        names = [row.source for row in result.packets]
        dropped = Column("dropped", [_named(row.dropped) for row in result.packets], words=True)
        yield _ledger("packets from", names, result.packets, ("sent", "duplicated", "received", "in_wire"), dropped)
    held = Column("held", [_named(row.held) for row in result.mbufs], words=True)
    yield _ledger("mbufs of", [row.endpoint for row in result.mbufs], result.mbufs, ("size", "free"), held)


def _ledger(head: str, names: Sequence[str], rows: Sequence[Any], fields: Sequence[str], *by_name: Column) -> Table:
    column = columns_of(rows)
    return Table(
        [
            Column(head, names, words=True),
            *(column(name.replace("_", " "), lambda r, name=name: fmt.count(getattr(r, name))) for name in fields),
            *by_name,
            column("missing", lambda r: Marked(fmt.count(r.missing), "loss" if r.missing else "plain")),
        ],
        detail=True,
    )


def _named(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {fmt.count(n)}" for name, n in counts.items()) or "none"
