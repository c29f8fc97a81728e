"""A comparison as a document: the verdicts, what was changed, and the metrics of both sides with the intervals of their differences."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from windtunnel import format as fmt
from windtunnel.host.states import counts
from windtunnel.measure.compare.comparison_record import (
    Comparison,
    Interval,
    Judged,
    Measure,
    Point,
    Run,
    Stopped,
    Verdict,
    Whole,
)
from windtunnel.measure.compare.conditions import fall
from windtunnel.measure.compare.points import describe_factors
from windtunnel.results.charts import comparison as charts
from windtunnel.results.document import (
    Block,
    Chart,
    Column,
    Document,
    Fold,
    Marked,
    Panel,
    Section,
    Sentence,
    Table,
    Tone,
    columns_of,
    first_of_group,
    groups_of,
)
from windtunnel.results.metric_columns import compared_text

TONES: Mapping[Verdict, Tone] = {
    "faster": "good",
    "slower": "bad",
    "no difference shown": "subject",
    "cannot tell": "warning",
    "cannot be compared": "warning",
    "invalid": "bad",
}
METHODS = {
    "paired": "pairs run in turn",
    "at any look": "pairs run in turn until they decide",
    "unpaired": "runs did not alternate",
    "assumed": "spread between runs assumed",
}
STOPPED: Mapping[Stopped, str] = {
    "decided": "decided",
    "time": "out of time",
    "interrupted": "interrupted",
    "failed": "too many invalid runs",
    "states": "too many pairs in other states",
}


def comparison_document(comparison: Comparison, files: Sequence[tuple[str, str]] = ()) -> Document:
    """The changes, the metrics of each point, and the verdicts."""
    return Document(
        kind="comparison",
        title=_title(comparison),
        at=comparison.made,
        how=_how(comparison),
        warnings=comparison.warnings,
        blocks=[
            Sentence(Marked("A ", strong=True), comparison.a),
            Sentence(Marked("B ", strong=True), comparison.b),
            *(_point(point, comparison) for point in comparison.points),
        ],
        verdict=Panel("verdict", sentences) if (sentences := verdict_sentences(comparison)) else None,
        files=files,
        made_from=f"Made from the runs above by windtunnel {comparison.windtunnel}. How a verdict is found: the page “How a difference is found” of the "
        "documentation.",
    )


def verdict_sentences(comparison: Comparison) -> list[Sentence]:
    """One for each workload and point, and one for each workload over all points."""
    of_points = [
        _verdict(judged, point, comparison.between_runs) for point in comparison.points for judged in point.judged
    ]
    return [*of_points, *map(_verdict_over_all, comparison.whole)]


def state_sentence(point: Point) -> str:
    """As in "9 pairs on one-l3, 4 on two-l3s, 2 dropped; compared on one-l3"; empty if no state is known."""
    if point.in_turn:
        numbers = counts([(state.state, state.a) for state in point.states], point.dropped, "pairs")
    else:
        of_sides = (
            (side, counts([(s.state, getattr(s, side)) for s in point.states if getattr(s, side)], 0, "runs"))
            for side in "ab"
        )
        numbers = "; ".join(f"{side.upper()}: {of_side}" for side, of_side in of_sides if of_side)
    compared = len(point.states) > 1 and point.measures
    return f"{numbers}; compared on {point.states[0].state}" if compared else numbers


def _title(comparison: Comparison) -> str:
    """With the verdict, if there is only one."""
    verdicts = {judged.verdict for point in comparison.points for judged in point.judged}
    return f"B against A: {verdicts.pop()}" if len(verdicts) == 1 else "B against A"


def _how(comparison: Comparison) -> list[str]:
    """How many runs, and how they were compared."""
    runs = [run for point in comparison.points for run in point.runs]
    numbers = " and ".join(f"{sum(run.side == side for run in runs)} of {side.upper()}" for side in ("a", "b"))
    methods = {m.interval.method: None for point in comparison.points for m in point.measures if m.interval}
    how = [f"runs: {numbers}", *(METHODS[method] for method in methods), f"intervals of {1 - comparison.level:.0%}"]
    paired = comparison.paired_runs
    if paired and paired.stopped != "all run":
        how.insert(0, f"{STOPPED[paired.stopped]} after {paired.pairs} of {paired.pairs_wanted} pairs")
    return how


def _verdict(judged: Judged, point: Point, between: float) -> Sentence:
    """`between`: the spread that is assumed if there are too few runs."""
    of_point = f"{describe_factors(point.factors.items())}: " if point.factors else ""
    of_workload = f"{judged.workload}: " if judged.workload else ""
    head = (f"{of_point}{of_workload}", Marked(judged.verdict, TONES[judged.verdict], strong=True))
    if judged.reasons:
        return Sentence(*head, f": {'; '.join(judged.reasons)}")
    measure = next(m for m in point.measures if (m.workload, m.metric) == (judged.workload, judged.decided_by))
    assert measure.interval is not None
    doubts = []
    if rejected := sum(run.place is not None and bool(run.reasons) for run in point.runs):
        doubts.append(f"; {rejected} of {len(point.runs)} runs are rejected")
    if measure.interval.method == "assumed":
        doubts.append(f"; rests on a spread of {between:.0%} between identical runs, which is assumed")
    difference = f", {measure.metric} {_difference_words(measure.interval)}; {judged.because}"
    return Sentence(*head, difference, *(Marked(doubt, "warning") for doubt in doubts))


def _verdict_over_all(whole: Whole) -> Sentence:
    return Sentence(
        f"over {whole.points} points, {whole.workload}: ",
        Marked(whole.verdict, TONES[whole.verdict], strong=True),
        f", {whole.metric} {_difference_words(whole.interval)}",
    )


def _difference_words(interval: Interval) -> str:
    return (
        f"{_percent(interval.percent)} [{_range(interval)}], smallest detectable difference: "
        f"+{interval.smallest:.1f}% or -{fall(interval.smallest):.1f}%"
    )


def _point(point: Point, comparison: Comparison) -> Section:
    return Section(
        describe_factors(point.factors.items()) if point.factors else "A and B",
        list(_blocks(point, comparison)),
        terminal="titled" if point.factors else "untitled",
    )


def _blocks(point: Point, comparison: Comparison) -> Iterator[Block]:
    """With several points, tables that are shown at once have only the metrics that decide."""
    if states := state_sentence(point):
        yield Sentence(states)
    yield from _changes(point)
    if forest := charts.forest(point):
        level = fmt.percent(1 - comparison.level, 0)
        about = f"The differences, each with its interval of {level}. The band: differences that so many runs detect in fewer than 80% of comparisons."
        yield Chart(forest, about)
    if in_time := charts.in_time(point):
        yield Chart(in_time, "The runs in the order of time.")
    rows = [measure for measure in point.measures if _is_worth_a_row(measure)]
    if len(comparison.points) == 1:
        yield from [_measures(rows, point)] if rows else []
    elif rows:
        deciding = [measure for measure in rows if charts.decides(measure, point)]
        yield from [_measures(deciding, point)] if deciding else []
        yield Fold("All metrics", [_measures(rows, point)])
    yield Fold(f"{len(point.runs)} runs, in the order of time", [_runs(point.runs)])


def _changes(point: Point) -> Iterator[Sentence]:
    for difference in point.differences:
        change = f"{_value(difference.a)} → {_value(difference.b)}"
        yield Sentence(Marked("changed: ", strong=True), f"{difference.key}  {change}")
    if point.measures and not point.differences:
        yield Sentence("changed: nothing; A and B are equal", tone="quiet")


def _value(value: object) -> str:
    return "not set" if value is None else str(list(value)) if isinstance(value, tuple) else str(value)


def _measures(measures: Sequence[Measure], point: Point) -> Table:
    """The metrics of both sides, those of workloads first; the ones that decide stand out."""
    rows = sorted(measures, key=lambda row: not row.workload)
    places = [row.workload or row.metric.rpartition(".")[0] for row in rows]

    def column(
        head: str, text: Callable[[Measure], str], spare: int = 0, width: int = 0, words: bool = False
    ) -> Column:
        cells = [Marked(text(row), strong=charts.decides(row, point)) for row in rows]
        return Column(head, cells, spare, width, words)

    def of_interval(head: str, text: Callable[[Interval], str], spare: int = 0) -> Column:
        return column(head, lambda row: fmt.DASH if row.interval is None else text(row.interval), spare)

    return Table(
        [
            Column("", first_of_group(places), words=True),
            column(
                "metric", lambda row: row.metric if row.workload else row.metric.rpartition(".")[2], 0, 14, words=True
            ),
            column("A", lambda row: compared_text(row.unit, row.middles[0])),
            column("B", lambda row: compared_text(row.unit, row.middles[1])),
            of_interval("difference", lambda interval: _percent(interval.percent)),
            of_interval("interval", _range, spare=1),
            of_interval("detectable", lambda interval: f"{interval.smallest:.1f}%"),
            of_interval("P(B > A)", lambda interval: fmt.percent(interval.effect, 0), spare=2),
            column("shown", charts.direction, words=True),
        ],
        groups_of([place.partition(".")[0] for place in places]),
    )


def _is_worth_a_row(measure: Measure) -> bool:
    """Metrics that are 0 on both sides are only in comparison.json."""
    return any((*measure.a, *measure.b))


def _percent(value: float) -> str:
    return f"{value:+.1f}%" if abs(value) < 999.5 else f"{value:+.3g}%"


def _range(interval: Interval) -> str:
    return f"{_percent(interval.low)} .. {_percent(interval.high)}"


def _runs(runs: Sequence[Run]) -> Table:
    column = columns_of(runs)
    return Table(
        [
            column("side", lambda run: run.side.upper(), words=True),
            column("place", lambda run: fmt.DASH if run.place is None else str(run.place + 1)),
            column("started", lambda run: f"{run.started:%Y-%m-%d %H:%M:%S}" if run.started else fmt.DASH, words=True),
            column("run", lambda run: run.path, words=True),
            column("", _validity, words=True),
        ]
    )


def _validity(run: Run) -> str:
    """Empty for a valid run with the usual limits."""
    if run.reasons:
        return f"{'invalid' if run.place is None else 'invalid, included'}: {run.reasons[0]}"
    return "valid, limits relaxed" if run.relaxed else ""
