"""A history from the readings of its runs: levels and change points."""

from collections.abc import Collection, Sequence
from itertools import pairwise, takewhile
from math import exp, expm1, log
from statistics import fmean, median

from windtunnel.host import states
from windtunnel.measure.compare.reading import MetricKey, Reading, better, deciding
from windtunnel.measure.history import history_record as record
from windtunnel.measure.history.scenarios import changed, history_key, in_order
from windtunnel.stats import days, levels


def history(readings: Sequence[Reading], by: str | None = None, only: Collection[str] | None = None) -> record.History:
    """Judges readings of one `history_key`, at least one. `by`: the label that orders them. `only`: metrics to be judged beside the ones that
    decide; None: all that were measured."""
    valid = [reading for reading in readings if not reading.reasons]
    ordered = in_order(valid, by)
    of_state = states.groups([(reading,) for reading in ordered]) if ordered else []
    groups = [(group.state, [ordered[place] for place in group.positions]) for group in of_state]
    placed = [reading for _, runs in groups for reading in runs]
    newest = max(placed, key=lambda r: (r.started, r.path), default=None)
    last = max(readings, key=lambda r: (r.started is not None, r.started))
    dated = in_order(readings, None)
    judged = {reading.path for reading in placed}
    dated_valid = in_order(valid, None)
    return record.History(
        key=history_key(last),
        title=last.title,
        host=last.identity["host"],
        invalid=len(readings) - len(valid),
        newest_invalid=len(list(takewhile(lambda reading: reading.reasons, reversed(dated)))),
        newest_left_out=len(list(takewhile(lambda reading: reading.path not in judged, reversed(dated_valid)))),
        undated=sum(reading.started is None for reading in valid),
        unlabelled=0 if by is None else sum(by not in reading.labels for reading in valid),
        unplaced=len(ordered) - len(placed),
        states=[_in_state(state, runs, newest, only) for state, runs in groups],
    )


def _in_state(
    state: str | None, runs: Sequence[Reading], newest: Reading | None, only: Collection[str] | None
) -> record.InState:
    deciders = {(name, deciding(name, runs)[0]) for name in runs[0].modes}
    keys = [key for key in dict.fromkeys(key for run in runs for key in run.values)]
    others = [key for key in keys if key not in deciders and (only is None or key[1] in only)]
    families = [([key for key in keys if key in deciders], True), (others, False)]
    return record.InState(
        state=state,
        newest=newest in runs,
        runs=[
            record.HistoryRun(path=str(r.path), started=r.started, labels=r.labels, relaxed=r.relaxed)
            for r in runs
            if r.started
        ],
        metrics=[_metric(runs, key, decides, len(family)) for family, decides in families for key in family],
    )


def _metric(runs: Sequence[Reading], key: MetricKey, decides: bool, family: int) -> record.Metric:
    """`family`: metrics among which the level of the tests is divided."""
    values = [run.values.get(key) for run in runs]
    places = [place for place, value in enumerate(values) if value]
    measured = [value for value in values if value]
    unjudged = _unjudged(values, len(measured))
    changes = [] if unjudged else levels.change_points(measured, family)
    edges = [0, *changes, len(measured)]
    parts = [measured[first:end] for first, end in pairwise(edges)]
    return record.Metric(
        workload=key[0],
        metric=key[1],
        unit="/s" if key[1].endswith("_per_s") else "ns",
        better=better(key[1]),
        decides=decides,
        values=values,
        absent=len(list(takewhile(lambda value: not value, reversed(values)))),
        beyond=len(list(takewhile(lambda run: key in run.beyond, reversed(runs)))),
        levels=[]
        if unjudged
        else [
            record.Level(first=places[first], last=places[end - 1], median=median(part))
            for (first, end), part in zip(pairwise(edges), parts, strict=True)
        ],
        changes=[_change(runs, key[1], places[place], measured, edges, n, family) for n, place in enumerate(changes)],
        detectable=None if unjudged else 100 * levels.detectable(measured, family),
        unjudged=unjudged,
        another_day=None if unjudged else _another_day(runs, places[edges[-2] :], values),
    )


def _another_day(
    runs: Sequence[Reading], places: Sequence[int], values: Sequence[float | None]
) -> record.AnotherDay | None:
    """The prediction for another day from the runs at these places; the day of a run is that on which it began (UTC)."""
    of_days: dict[object, list[float]] = {}
    for place in places:
        started, value = runs[place].started, values[place]
        if started and value:
            of_days.setdefault(started.date(), []).append(log(value))
    prediction = days.another_day(list(of_days.values()))
    if prediction is None or prediction.low is None or prediction.high is None:
        return None
    return record.AnotherDay(
        days=len(of_days), value=exp(prediction.mean), low=exp(prediction.low), high=exp(prediction.high)
    )


def _unjudged(values: Sequence[float | None], measured: int) -> str | None:
    if any(value is not None and value <= 0 for value in values):
        return "0 in some runs: no ratio"
    if measured < levels.LEAST_RUNS:
        runs = "1 run" if measured == 1 else f"{measured} runs"
        return f"too few runs: {runs}, {levels.LEAST_RUNS} are needed"
    return None


def _change(
    runs: Sequence[Reading],
    metric: str,
    place: int,
    values: Sequence[float],
    edges: Sequence[int],
    n: int,
    family: int,
) -> record.ChangePoint:
    """The change from part `n` of the values to the next one, whose first run is at `place` of all runs."""
    first, at, end = edges[n : n + 3]
    size, later = levels.size_of(values[first:], at - first, end - first, family)
    since = fmean(map(log, values[edges[-2] :])) - fmean(map(log, values[first:at]))
    assert size.low is not None and size.high is not None
    return record.ChangePoint(
        run=place,
        kind="improvement" if (size.mean > 0) == (better(metric) == "higher") else "regression",
        percent=100 * expm1(size.mean),
        low=100 * expm1(size.low),
        high=100 * expm1(size.high),
        later=later,
        changed=changed(runs[place - 1], runs[place]),
        persists=(since > 0) == (size.mean > 0) and abs(since) > abs(size.mean) / 2,
    )
