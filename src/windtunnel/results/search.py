"""A search as a document: the result of each goal, every trial, latency at parts of the rate, and the longest burst."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.measure.search import GoalResult, TrialResult
from windtunnel.measure.throughput.pauses import PAUSE
from windtunnel.measure.throughput.search_record import BurstRow, GoalRow, LatencyRow, SearchRecord, TrialRow
from windtunnel.results.charts import search as charts
from windtunnel.results.document import (
    Block,
    Chart,
    Column,
    Document,
    Fold,
    Headlines,
    Listing,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    columns_of,
)
from windtunnel.results.host import host_section, pretty
from windtunnel.scenario.validity_keys import relaxed

METHODS = {"mlrsearch": "MLRsearch, RFC 9971", "rfc2544": "binary search, RFC 2544"}


def search_document(record: SearchRecord, files: Sequence[tuple[str, str]] = ()) -> Document:
    """A row for each goal, with the reasons of irregular results, and what was measured at the rates that were found."""
    return Document(
        kind="search",
        title=record.title,
        question=record.question,
        at=record.started,
        how=[
            METHODS[record.method],
            f"{len(record.trials)} trials of {sum(t.duration_s for t in record.trials):.0f} s",
        ],
        notes=host_sentences(record),
        warnings=[*_limits_of_the_client(record.goals), *doubts(record)],
        blocks=[
            Headlines([_headline(goal) for goal in record.goals]),
            *_goals(record.goals),
            *_trials_by_load(record),
            *_latency(record.latency),
            *([_burst(record.burst)] if record.burst else []),
            _every_trial(record.trials),
            host_section(
                record.host,
                record.versions,
                folds=[Fold("The scenario, without a rate", [Listing(pretty(record.scenario))])],
            ),
        ],
        verdict=_verdict(record.goals),
        files=files,
        made_from="Made from search.json beside this file; trial-*/ holds every run. What a search means and when to trust it: the page “How a search finds "
        "the rate” of the documentation.",
    )


def doubts(record: SearchRecord) -> list[str]:
    """How many invalid runs counted, whether pauses of the host decided trials, and which validity limits the scenario relaxed."""
    sentences = []
    if record.included:
        included = f"{len(record.included)} invalid runs included (--include-invalid)"
        sentences.append(f"{included}: {', '.join(record.included)}")
    if record.pauses_count and (paused := record.paused - _excluded_for_pauses(record)):
        sentences.append(
            f"pauses of the host may have decided {paused} of the trials that count: without pauses the data plane would carry at least "
            "these rates"
        )
    if limits := relaxed(record.scenario.get("validity", {})):
        sentences.append(f"limits relaxed: {', '.join(limits)}")
    return sentences


def host_sentences(record: SearchRecord) -> list[str]:
    """The host state that was searched in, and what the host made repeat."""
    sentences = [f"host state: {record.state or 'not known'}"]
    excluded = sum(trial.excluded is not None for trial in record.trials)
    if excluded:
        states = f", {record.other_states} of them in another host state" if record.other_states else ""
        paused = _excluded_for_pauses(record)
        pauses = f", {paused} for a pause that may have decided them" if paused else ""
        sentences.append(f"{excluded} trials excluded and run again{states}{pauses}")
    if count := len(record.closed_loops_excluded):
        sentences.append(f"{count} closed loops excluded; the last one: {record.closed_loops_excluded[-1]}")
    return sentences


def trial_line(number: int, trial: TrialResult, results: Sequence[GoalResult]) -> str:
    """One trial, and what is known of each goal after it: for stderr, while the search runs."""
    outcome = f"excluded: {trial.excluded}" if trial.excluded else f"lost {trial.loss_ratio:8.4%}"
    known = "  ".join(
        f"{r.goal.name} {_load(r.relevant_lower_bound)} .. {_load(r.relevant_upper_bound)}" for r in results
    )
    return f"trial {number:>3}  {trial.duration_s:5.2f} s at {_load(trial.load):>11}  {outcome}  {known}"


def _excluded_for_pauses(record: SearchRecord) -> int:
    return sum((trial.excluded or "").startswith(PAUSE) for trial in record.trials)


def _limits_of_the_client(goals: Sequence[GoalRow]) -> Iterator[str]:
    for goal in goals:
        if goal.limited_by_generator:
            yield f"{goal.name}: the client limits the upper bound, not the data plane"


def _verdict(goals: Sequence[GoalRow]) -> Sentence | Panel | None:
    """Why goals have no regular result, if there are such."""
    if irregular := [goal for goal in goals if goal.irregular]:
        return Panel("irregular", [Sentence(f"{goal.name}: {goal.irregular}") for goal in irregular], tone="bad")
    return Sentence(Marked(f"regular: {', '.join(goal.name for goal in goals)}", "good")) if goals else None


def _headline(goal: GoalRow) -> tuple[str, str]:
    return (fmt.rate(goal.conditional_throughput), f"{goal.name}{', irregular' if goal.irregular else ''}")


def _goals(goals: Sequence[GoalRow]) -> Iterator[Section]:
    if not goals:
        return
    column = columns_of(goals)
    with_latency = any(goal.latency for goal in goals)
    about = (
        "The limit of a goal lies between its bounds. Conditional throughput is the rate forwarded at the lower bound (RFC 9971, section 4.8.1.3). An "
        "irregular result is not a result."
    )
    of_latency = (
        " “Latency” is the percentile of the goal at the lower bound, the median of its trials with its 95% interval."
    )
    table = Table(
        [
            column("goal", lambda goal: goal.name, words=True),
            column("allowed", _allowed, spare=2),
            column("allowed to exceed", lambda goal: fmt.percent(goal.exceed_ratio, 0), spare=9),
            column("conditional throughput", lambda goal: fmt.rate(goal.conditional_throughput)),
            column("lower bound", lambda goal: _load(goal.relevant_lower_bound)),
            column("upper bound", lambda goal: _load(goal.relevant_upper_bound)),
            column("width", lambda goal: fmt.percent(_width(goal), 2), spare=1),
            column("goal’s width", lambda goal: fmt.percent(goal.width, 2), spare=8),
            *([column("latency", _goal_latency)] if with_latency else []),
            column("result", lambda goal: "irregular" if goal.irregular else "regular", words=True),
        ]
    )
    yield Section("Result", [table], about + of_latency if with_latency else about)


def _allowed(goal: GoalRow) -> str:
    """What a goal allows: "loss 0.50%", or "p99 50.0 µs, loss 0.10%"."""
    loss = f"loss {fmt.percent(goal.loss_ratio, 2)}"
    if goal.latency is None:
        return loss
    return f"p{goal.latency.percentile:g} {fmt.duration(goal.latency.limit_ns)}, {loss}"


def _goal_latency(goal: GoalRow) -> str:
    """The goal's percentile at its lower bound, as in "45.1 us [44.0 us .. 47.1 us]"."""
    if goal.latency is None:
        return ""
    ns, low, high = map(fmt.duration, (goal.latency.ns, goal.latency.low_ns, goal.latency.high_ns))
    return ns if goal.latency.low_ns is None else f"{ns} [{low} .. {high}]"


def _load(load: float | None) -> str:
    """As in "612,345 /s"."""
    return fmt.DASH if load is None else f"{load:,.0f} /s"


def _width(goal: GoalRow) -> float | None:
    """What was reached, as a share of the upper bound; None unless both bounds are there."""
    if goal.relevant_lower_bound is None or not goal.relevant_upper_bound:
        return None
    return 1 - goal.relevant_lower_bound / goal.relevant_upper_bound


def _trials_by_load(record: SearchRecord) -> Iterator[Section]:
    if record.trials:
        about = "One point a trial, on a logarithmic axis that has a place for 0. Dotted: the lower bounds."
        yield Section("Trials", [Chart(charts.trials(record), about)])


def _latency(rows: Sequence[LatencyRow]) -> Iterator[Section]:
    if not rows:
        return
    column = columns_of(rows)
    table = Table(
        [
            column("latency at", lambda row: f"{row.share:.0%} · {fmt.rate(row.rate)}", words=True),
            column("workload", lambda row: row.workload, words=True, spare=1),
            *(Column(p.name, [fmt.duration(getattr(row, p.field)) for row in rows], p.spare) for p in charts.MEASURED),
            column("p99 from send", lambda row: fmt.duration(row.p99_from_send), spare=4),
            column("pacing p99", lambda row: fmt.duration(row.pacing_p99), spare=5),
            column("", lambda row: "; ".join(row.reasons), words=True, spare=6),
        ]
    )
    plot = charts.latency(rows)
    blocks: list[Block] = [Chart(plot), table] if plot else [table]
    about = "From the intended send time; from send: from the real one. Pacing: between the two."
    yield Section("Latency by load", blocks, about)


def _burst(row: BurstRow) -> Section:
    if row.messages is None:
        text = f"back to back: {row.words}"
    else:
        corrected = (
            f"; {row.corrected_messages:,.0f} of them in buffers, less what was forwarded meanwhile"
            if row.corrected_messages is not None
            else ""
        )
        without_loss = f"{row.messages:,.0f} messages at {fmt.rate(row.rate)} were forwarded without loss"
        text = f"back to back: {without_loss}{corrected} ({row.words})"
    return Section("Back to back", [Sentence(text)])


def _every_trial(rows: Sequence[TrialRow]) -> Section:
    column = columns_of(rows)
    table = Table(
        [
            column("run", lambda row: row.run, words=True),
            column("load", lambda row: _load(row.load)),
            column("seconds", lambda row: fmt.number(row.duration_s, 2)),
            column("sent", lambda row: fmt.count(row.sent)),
            column("responses", lambda row: fmt.count(row.forwarded)),
            column("unsent", lambda row: fmt.count(row.unsent)),
            column("lost", lambda row: fmt.percent(row.loss_ratio, 4)),
            column("excluded", lambda row: row.excluded or "", words=True),
        ]
    )
    return Section("Every trial", [Fold(f"{len(rows)} trials, in their order", [table])], terminal="absent")
