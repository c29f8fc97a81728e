"""A search in the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.measure.search import GoalResult, TrialResult
from windtunnel.measure.throughput.pauses import PAUSE
from windtunnel.measure.throughput.record import BurstRow, GoalRow, LatencyRow, SearchRecord
from windtunnel.scenario.validity_keys import relaxed
from windtunnel.views.terminal.columns import Column, Fitting

METHODS = {"mlrsearch": "MLRsearch, RFC 9971", "rfc2544": "binary search, RFC 2544"}


def search_view(record: SearchRecord) -> RenderableType:
    """A row for each goal, latency at parts of the rate, the longest burst."""
    parts: list[RenderableType] = [Text(record.title, style="bold")]
    parts += [Text(record.question, style="italic")] if record.question else []
    finished = f"{len(record.trials)} trials of {sum(t.duration_s for t in record.trials):.0f} s"
    parts += [Text(f"{METHODS[record.method]} · {finished}", style="dim")]
    parts += [*(Text(words, style="dim") for words in host_words(record)), Text()]
    parts += [goal_table(record.goals), Text()]
    parts += [
        Text(f"{goal.name}: irregular: {goal.irregular}", style="bold red") for goal in record.goals if goal.irregular
    ]
    parts += [
        Text(f"warning: {goal.name}: the client limits the upper bound, not the data plane", style="yellow")
        for goal in record.goals
        if goal.limited_by_generator
    ]
    parts += [Text(f"warning: {words}", style="yellow") for words in doubts(record)]
    parts += [latency_table(record.latency), Text()] if record.latency else []
    parts += [_burst(record.burst)] if record.burst else []
    return Group(*parts)


def doubts(record: SearchRecord) -> list[str]:
    """How many invalid runs counted, and which validity limits the scenario relaxed; empty without any."""
    count, limits = len(record.included), relaxed(record.scenario.get("validity", {}))
    said = [f"{count} invalid runs included (--include-invalid): {', '.join(record.included)}"] if count else []
    if record.pauses_count and (paused := record.paused - _excluded_for_pauses(record)):
        said.append(
            f"pauses of the host may have decided {paused} of the trials that count: without pauses the data plane would carry at least "
            "these rates"
        )
    return said + ([f"limits relaxed: {', '.join(limits)}"] if limits else [])


def host_words(record: SearchRecord) -> list[str]:
    """Sentences: the host state that was searched in, and what the host made repeat."""
    said = [f"host state: {record.state or 'not known'}"]
    excluded = sum(trial.excluded is not None for trial in record.trials)
    if excluded:
        states = f", {record.other_states} of them in another host state" if record.other_states else ""
        paused = _excluded_for_pauses(record)
        pauses = f", {paused} for a pause that may have decided them" if paused else ""
        said.append(f"{excluded} trials excluded and run again{states}{pauses}")
    if count := len(record.closed_loops_excluded):
        said.append(f"{count} closed loops excluded; the last one: {record.closed_loops_excluded[-1]}")
    return said


def _excluded_for_pauses(record: SearchRecord) -> int:
    return sum((trial.excluded or "").startswith(PAUSE) for trial in record.trials)


def allowed_words(row: GoalRow) -> str:
    """What a goal allows: "0.50%", or "p99 ≤ 50.0 µs, loss ≤ 0.10%"."""
    loss = fmt.percent(row.loss_ratio, 2)
    if row.latency is None:
        return f"loss {loss}"
    return f"p{row.latency.percentile:g} {fmt.duration(row.latency.limit_ns)}, loss {loss}"


def goal_table(rows: Sequence[GoalRow]) -> RenderableType:
    """The goal's limit lies between the bounds. Conditional throughput is the rate forwarded at the lower bound."""
    return Fitting(
        [
            Column("goal", [row.name for row in rows], words=True),
            Column("allowed", [allowed_words(row) for row in rows], spare=2),
            Column("conditional throughput", [fmt.rate(row.conditional_throughput) for row in rows]),
            Column("lower bound", [load_words(row.relevant_lower_bound) for row in rows]),
            Column("upper bound", [load_words(row.relevant_upper_bound) for row in rows]),
            Column("width", [fmt.percent(width_of(row), 2) for row in rows], spare=1),
            *([Column("latency", [latency_words(row) for row in rows])] if any(row.latency for row in rows) else []),
            Column("result", ["irregular" if row.irregular else "regular" for row in rows], words=True),
        ]
    )


def latency_words(row: GoalRow) -> str:
    """The goal's percentile at its lower bound, as in "45.1 us [44.0 us .. 47.1 us]"."""
    if row.latency is None:
        return ""
    ns, low, high = map(fmt.duration, (row.latency.ns, row.latency.low_ns, row.latency.high_ns))
    return ns if row.latency.low_ns is None else f"{ns} [{low} .. {high}]"


def latency_table(rows: Sequence[LatencyRow]) -> RenderableType:
    return Fitting(
        [
            Column("latency at", [f"{row.share:.0%} · {fmt.rate(row.rate)}" for row in rows], words=True),
            Column("workload", [row.workload for row in rows], words=True, spare=1),
            Column("p50", [fmt.duration(row.p50) for row in rows]),
            Column("p90", [fmt.duration(row.p90) for row in rows], spare=3),
            Column("p99", [fmt.duration(row.p99) for row in rows]),
            Column("p99.9", [fmt.duration(row.p999) for row in rows]),
            Column("p99 from send", [fmt.duration(row.p99_from_send) for row in rows], spare=4),
            Column("pacing p99", [fmt.duration(row.pacing_p99) for row in rows], spare=5),
            Column("", ["; ".join(row.reasons) for row in rows], words=True, spare=6),
        ]
    )


def trial_line(number: int, trial: TrialResult, results: Sequence[GoalResult]) -> str:
    """One trial, and what is known of each goal after it."""
    what = f"excluded: {trial.excluded}" if trial.excluded else f"lost {trial.loss_ratio:8.4%}"
    known = "  ".join(
        f"{r.goal.name} {load_words(r.relevant_lower_bound)} .. {load_words(r.relevant_upper_bound)}" for r in results
    )
    return f"trial {number:>3}  {trial.duration_s:5.2f} s at {load_words(trial.load):>11}  {what}  {known}"


def _burst(row: BurstRow) -> Text:
    if row.messages is None:
        return Text(f"back to back: {row.words}")
    corrected = (
        f", {row.corrected_messages:,.0f} less what was forwarded meanwhile"
        if row.corrected_messages is not None
        else ""
    )
    return Text(f"back to back: {row.messages:,.0f} messages at {fmt.rate(row.rate)}{corrected} ({row.words})")


def load_words(load: float | None) -> str:
    """As in "612,345 /s"."""
    return fmt.DASH if load is None else f"{load:,.0f} /s"


def width_of(row: GoalRow) -> float | None:
    """What was reached, as a share of the upper bound; None unless both bounds are there."""
    if row.relevant_lower_bound is None or not row.relevant_upper_bound:
        return None
    return 1 - row.relevant_lower_bound / row.relevant_upper_bound
