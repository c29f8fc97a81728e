"""A history from the readings of its runs: levels, and the change points that hold by the tests of `compare`."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from statistics import median

from windtunnel.host import states
from windtunnel.measure.compare.judge import interval_of
from windtunnel.measure.compare.reading import MetricKey, Reading, better, deciding
from windtunnel.measure.history import change_points, model
from windtunnel.measure.history.scenarios import changed, history_key, in_order
from windtunnel.stats import differences
from windtunnel.stats.differences import LEVEL, Estimate


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
    changes = [] if unjudged else _held(measured, change_points.change_points(measured), LEVEL / family)
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
        changes=[_change(runs, key[1], places[place], parts, n, family) for n, place in enumerate(changes)],
        detectable=None if unjudged else 100 * change_points.detectable(measured),
        unjudged=unjudged,
    )


def _unjudged(values: Sequence[float | None], measured: int) -> str | None:
    if any(value is not None and value <= 0 for value in values):
        return "0 in some runs: no ratio"
    if measured < change_points.LEAST_RUNS:
        runs = "1 run" if measured == 1 else f"{measured} runs"
        return f"too few runs: {runs}, {change_points.LEAST_RUNS} are needed"
    return None


def _held(values: Sequence[float], places: list[int], level: float) -> list[int]:
    """The change points of which each holds against the runs between its neighbours; the one that does so least goes first."""
    held = list(places)
    while held:
        edges = [0, *held, len(values)]
        estimates = [
            differences.unpaired(values[edges[n] : edges[n + 1]], values[edges[n + 1] : edges[n + 2]])
            for n in range(len(held))
        ]
        weakest = max(range(len(held)), key=lambda n: (not _holds(estimates[n], level), estimates[n].p))
        if _holds(estimates[weakest], level):
            break
        del held[weakest]
    return held


def _holds(estimate: Estimate, level: float) -> bool:
    """Whether `compare` would show it, and it is not below what it would call the smallest detectable difference."""
    return estimate.p <= level and abs(estimate.difference) >= estimate.smallest


def _change(
    runs: Sequence[Reading], metric: str, place: int, parts: Sequence[Sequence[float]], n: int, family: int
) -> model.ChangePoint:
    """The change from part `n` to the next one, whose first run is at `place`."""
    step, since = (differences.unpaired(parts[n], part) for part in (parts[n + 1], parts[-1]))
    same_way = (step.difference > 0) == (since.difference > 0)
    return model.ChangePoint(
        run=place,
        kind="improvement" if (step.difference > 0) == (better(metric) == "higher") else "regression",
        interval=interval_of(step, min(1.0, step.p * family)),
        changed=changed(runs[place - 1], runs[place]),
        persists=same_way and _holds(since, LEVEL / family),
    )
