"""A history from the readings of its runs: levels and change points."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from math import exp, expm1, log
from statistics import fmean, median

from windtunnel.host import states
from windtunnel.measure.compare.reading import MetricKey, Reading, better, deciding
from windtunnel.measure.history import model
from windtunnel.measure.history.scenarios import changed, history_key, in_order
from windtunnel.stats import days, levels


def history(readings: Sequence[Reading], by: str | None = None, only: Collection[str] | None = None) -> model.History:
    """Judges readings of one `history_key`, at least one. `by`: the label that orders them. `only`: metrics to be judged beside the ones that
    decide; None: all that were measured."""
    valid = [reading for reading in readings if not reading.reasons]
    ordered = in_order(valid, by)
    of_state = states.groups([(reading,) for reading in ordered]) if ordered else []
    groups = [(group.state, [ordered[place] for place in group.positions]) for group in of_state]
    placed = [reading for _, of in groups for reading in of]
    newest = max(placed, key=lambda r: (r.started, r.path), default=None)
    last = max(readings, key=lambda r: (r.started is not None, r.started))
    return model.History(
        key=history_key(last),
        title=last.title,
        host=last.identity["host"],
        invalid=len(readings) - len(valid),
        unlabelled=0 if by is None else sum(by not in reading.labels for reading in valid),
        unplaced=len(ordered) - len(placed),
        states=[_in_state(state, of, newest, only) for state, of in groups],
    )


def _in_state(
    state: str | None, runs: Sequence[Reading], newest: Reading | None, only: Collection[str] | None
) -> model.InState:
    deciders = {(name, deciding(name, runs)[0]) for name in runs[0].modes}
    keys = [key for key in dict.fromkeys(key for run in runs for key in run.values)]
    others = [key for key in keys if key not in deciders and (only is None or key[1] in only)]
    families = [([key for key in keys if key in deciders], True), (others, False)]
    return model.InState(
        state=state,
        newest=newest in runs,
        runs=[
            model.HistoryRun(path=str(r.path), started=r.started, labels=r.labels, relaxed=r.relaxed)
            for r in runs
            if r.started
        ],
        metrics=[_metric(runs, key, decides, len(family)) for family, decides in families for key in family],
    )


def _metric(runs: Sequence[Reading], key: MetricKey, decides: bool, family: int) -> model.Metric:
    """`family`: metrics among which the level of the tests is divided."""
    values = [run.values.get(key) for run in runs]
    places = [place for place, value in enumerate(values) if value]
    measured = [value for value in values if value]
    unjudged = _unjudged(values, len(measured))
    changes = [] if unjudged else levels.change_points(measured, family)
    edges = [0, *changes, len(measured)]
    parts = [measured[first:end] for first, end in pairwise(edges)]
    return model.Metric(
        workload=key[0],
        metric=key[1],
        unit="/s" if key[1].endswith("_per_s") else "ns",
        better=better(key[1]),
        decides=decides,
        values=values,
        levels=[]
        if unjudged
        else [
            model.Level(first=places[first], last=places[end - 1], median=median(part))
            for (first, end), part in zip(pairwise(edges), parts, strict=True)
        ],
        changes=[_change(runs, key[1], places[place], measured, edges, n, family) for n, place in enumerate(changes)],
        detectable=None if unjudged else 100 * levels.detectable(measured, family),
        unjudged=unjudged,
        another_day=None if unjudged else _another_day(runs, places[edges[-2] :], values),
    )


def _another_day(
    runs: Sequence[Reading], places: Sequence[int], values: Sequence[float | None]
) -> model.AnotherDay | None:
    """By the runs at these places, each of the day (UTC) on which it began."""
    of_days: dict[object, list[float]] = {}
    for place in places:
        started, value = runs[place].started, values[place]
        if started and value:
            of_days.setdefault(started.date(), []).append(log(value))
    found = days.another_day(list(of_days.values()))
    if found is None or found.low is None or found.high is None:
        return None
    return model.AnotherDay(days=len(of_days), value=exp(found.mean), low=exp(found.low), high=exp(found.high))


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
) -> model.ChangePoint:
    """The change from part `n` of the values to the next one, whose first run is at `place` of all runs."""
    first, at, end = edges[n : n + 3]
    found, later = levels.size_of(values[first:], at - first, end - first, family)
    since = fmean(map(log, values[edges[-2] :])) - fmean(map(log, values[first:at]))
    assert found.low is not None and found.high is not None
    return model.ChangePoint(
        run=place,
        kind="improvement" if (found.mean > 0) == (better(metric) == "higher") else "regression",
        percent=100 * expm1(found.mean),
        low=100 * expm1(found.low),
        high=100 * expm1(found.high),
        later=later,
        changed=changed(runs[place - 1], runs[place]),
        persists=(since > 0) == (found.mean > 0) and abs(since) > abs(found.mean) / 2,
    )
