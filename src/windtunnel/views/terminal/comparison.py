"""A comparison in the terminal."""

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.host.states import counts
from windtunnel.measure.compare.model import Comparison, Interval, Judged, Measure, Point, Whole
from windtunnel.measure.compare.options import fall
from windtunnel.measure.compare.points import words
from windtunnel.views.terminal.columns import Column, Fitting

COLOURS = {
    "faster": "green",
    "slower": "red",
    "no difference shown": "cyan",
    "cannot tell": "yellow",
    "cannot be compared": "yellow",
    "invalid": "red",
}
METHODS = {
    "paired": "pairs run in turn",
    "at any look": "pairs run in turn until they decide",
    "unpaired": "runs did not alternate",
    "assumed": "spread between runs assumed",
}


def comparison_view(comparison: Comparison) -> RenderableType:
    """The changes, a table for each point, warnings, and the verdicts last."""
    parts: list[RenderableType] = [
        Text.assemble(("A ", "bold"), comparison.a),
        Text.assemble(("B ", "bold"), comparison.b),
    ]
    parts.append(Text(how(comparison), style="dim"))
    for point in comparison.points:
        parts += [Text(), *_point(point, one_side=len(comparison.points) == 1)]
    parts.append(Text())
    parts += [Text(f"warning: {warning}", style="yellow") for warning in comparison.warnings]
    lines = [line for point in comparison.points for line in verdicts(point, comparison.between_runs)]
    parts += [
        Panel(Group(*lines, *map(_whole, comparison.whole)), title="B against A", title_align="left", expand=False)
    ]
    return Group(*parts)


def verdict_lines(comparison: Comparison) -> list[str]:
    """One a workload and point, and one for each over all points."""
    lines = [line.plain for point in comparison.points for line in verdicts(point, comparison.between_runs)]
    return lines + [_whole(each).plain for each in comparison.whole]


def how(comparison: Comparison) -> str:
    """How many runs, and how they were compared."""
    runs = [run for point in comparison.points for run in point.runs]
    counts = " and ".join(f"{sum(run.side == side for run in runs)} of {side.upper()}" for side in ("a", "b"))
    methods = {m.interval.method: None for point in comparison.points for m in point.measures if m.interval}
    parts = [f"runs: {counts}", *(METHODS[method] for method in methods), f"intervals of {1 - comparison.level:.0%}"]
    if comparison.paired_runs and comparison.paired_runs.stopped != "all run":
        paired = comparison.paired_runs
        why = {
            "decided": "decided",
            "time": "out of time",
            "interrupted": "interrupted",
            "failed": "too many invalid runs",
            "states": "too many pairs in other states",
        }
        parts.insert(0, f"{why[paired.stopped]} after {paired.pairs} of {paired.pairs_wanted} pairs")
    return " · ".join(parts)


def percent(value: float) -> str:
    return f"{value:+.1f}%" if abs(value) < 999.5 else f"{value:+.3g}%"


def name_of(measure: Measure) -> str:
    return f"{measure.workload} {measure.metric}" if measure.workload else measure.metric


def middle_text(measure: Measure, side: int) -> str:
    """A (0) or B (1), by the estimate of their difference."""
    middle = measure.middles[side]
    if middle is None:
        return fmt.DASH
    if measure.unit == "/s":
        return fmt.rate(middle)
    return fmt.duration(middle) if middle >= 100 else f"{middle:.1f} ns"


def verdict_word(measure: Measure) -> str:
    """The verdict on a metric in a word; empty without a difference."""
    if measure.interval is None:
        return measure.unmeasured or ""
    if not measure.shown:
        return ""
    return "higher" if measure.interval.percent > 0 else "lower"


def worth_a_row(measure: Measure) -> bool:
    """Metrics that are 0 on both sides are only in comparison.json."""
    return any((*measure.a, *measure.b))


def changed(value: object) -> str:
    return "not set" if value is None else str(list(value)) if isinstance(value, tuple) else str(value)


def _point(point: Point, one_side: bool) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if point.factors:
        parts.append(Text(words(point.factors.items()), style="bold"))
    if of_states := state_words(point):
        parts.append(Text(of_states))
    if point.differences:
        parts.append(Text("changed", style="bold"))
        parts += [Text(f"  {d.key}  {changed(d.a)} → {changed(d.b)}") for d in point.differences]
    elif point.measures:
        parts.append(Text("changed: nothing; both scenarios are equal", style="dim"))
    if point.measures:
        parts += [Text(), _table(point, one_side)]
    return parts


def _table(point: Point, one_side: bool) -> RenderableType:
    """All metrics; with several points, those that decide the verdicts."""
    deciding = {(judged.workload, judged.decided_by) for judged in point.judged}
    chosen = [
        row for row in point.measures if worth_a_row(row) and (one_side or (row.workload, row.metric) in deciding)
    ]
    rows = sorted(chosen, key=lambda row: not row.workload)
    places = [row.workload or row.metric.rpartition(".")[0] for row in rows]
    starts = [n for n, place in enumerate(places) if n == 0 or place != places[n - 1]]
    sections = [n for n in starts if n and places[n].partition(".")[0] != places[n - 1].partition(".")[0]]

    def column(
        head: str, text: Callable[[Measure], str], words: bool = False, width: int = 0, spare: int = 0
    ) -> Column:
        cells = [Text(text(row), style="bold" if (row.workload, row.metric) in deciding else "") for row in rows]
        return Column(head, cells, words=words, width=width, spare=spare)

    def of(row: Measure, show: Callable[[Interval], str]) -> str:
        return fmt.DASH if row.interval is None else show(row.interval)

    return Fitting(
        [
            Column("", [place if n in starts else "" for n, place in enumerate(places)], words=True),
            column(
                "metric",
                lambda row: row.metric if row.workload else row.metric.rpartition(".")[2],
                words=True,
                width=14,
            ),
            column("A", lambda row: middle_text(row, 0)),
            column("B", lambda row: middle_text(row, 1)),
            column("difference", lambda row: of(row, lambda i: percent(i.percent))),
            column("interval", lambda row: of(row, range_of), spare=1),
            column("detectable", lambda row: of(row, lambda i: f"{i.smallest:.1f}%")),
            column("P(B > A)", lambda row: of(row, lambda i: fmt.percent(i.effect, 0)), spare=2),
            column("shown", verdict_word),
        ],
        sections=sections,
    )


def state_words(point: Point) -> str:
    """As in "9 pairs on one-l3, 4 on two-l3s, 2 dropped; compared on one-l3"; empty where no state is known."""
    if point.in_turn:
        said = counts([(each.state, each.a) for each in point.states], point.dropped, "pairs")
    else:
        by_side = (
            (
                name,
                counts([(each.state, getattr(each, name)) for each in point.states if getattr(each, name)], 0, "runs"),
            )
            for name in "ab"
        )
        said = "; ".join(f"{name.upper()}: {numbers}" for name, numbers in by_side if numbers)
    compared = len(point.states) > 1 and point.measures
    return f"{said}; compared on {point.states[0].state}" if compared else said


def range_of(interval: Interval) -> str:
    return f"{percent(interval.low)} .. {percent(interval.high)}"


def verdicts(point: Point, between: float) -> list[Text]:
    """A line a workload. `between`: the spread that is assumed where there are too few runs."""
    where = f"{words(point.factors.items())}: " if point.factors else ""
    return [_verdict(judged, point, where, between) for judged in point.judged]


def _verdict(judged: Judged, point: Point, where: str, between: float) -> Text:
    name = f"{where}{judged.workload}: " if judged.workload else where
    line = Text.assemble(name, (judged.verdict, f"bold {COLOURS[judged.verdict]}"))
    if judged.reasons:
        return line.append(f": {'; '.join(judged.reasons)}")
    measure = next(m for m in point.measures if (m.workload, m.metric) == (judged.workload, judged.decided_by))
    assert measure.interval is not None
    line.append(f", {measure.metric} {_found(measure.interval)}; {judged.because}")
    if rejected := sum(run.place is not None and bool(run.reasons) for run in point.runs):
        line.append(f"; {rejected} of {len(point.runs)} runs are rejected", "yellow")
    if measure.interval.method == "assumed":
        line.append(f"; rests on a spread of {between:.0%} between identical runs, which is assumed", "yellow")
    return line


def _whole(whole: Whole) -> Text:
    line = Text.assemble(
        f"over {whole.points} points, {whole.workload}: ", (whole.verdict, f"bold {COLOURS[whole.verdict]}")
    )
    return line.append(f", {whole.metric} {_found(whole.interval)}")


def _found(interval: Interval) -> str:
    return (
        f"{percent(interval.percent)} [{range_of(interval)}], smallest detectable difference: "
        f"+{interval.smallest:.1f}% or -{fall(interval.smallest):.1f}%"
    )
