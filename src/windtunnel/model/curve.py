"""One curve: the form that a series is fitted with, its intervals, and its held-out errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from windtunnel.errors import UserError
from windtunnel.model import heldout
from windtunnel.model.forms import CACHE
from windtunnel.model.heldout import Candidate
from windtunnel.model.observe import Series, noise_floor, points_of
from windtunnel.model.points import NoFit, Points, World
from windtunnel.model.record import Beyond, Curve, Parameter, Sized, Tried
from windtunnel.model.table_settings import own_settings

DRAWS = 200
CONFIDENCE = 0.95
PARTS = 10
"""Of the largest size: what `beyond` trains up to where nobody says."""
HELP = "more sizes, over a wider range (log = { from = 100, to = 10M, points = 11 }), or more repeats"


@dataclass(frozen=True)
class Options:
    """How a curve is fitted."""

    form: str | None = None
    """None: the one with the least held-out error."""
    bound: float | None = None
    """Of the test beyond; None: a tenth of the largest size."""
    seed: int = 1


def fit_curve(series: Series, axis: str, world: World, options: Options) -> Curve:
    """Raises UserError where the series does not determine a form."""
    table = _table(series, axis)
    world = world.of(table)
    contention = contention_of(series)
    single = on_one_core(series, contention)
    points = points_of(single)
    _refuse_what_says_nothing(series, points)
    beyond = _beyond(points, world, options.bound)
    tried = heldout.candidates(points, world)
    best = _chosen(tried, options.form, series)
    choice = best.held if options.form else _of_the_choice(points, world, best)
    draws = bootstrap(best, points, single, world, options.seed)
    lows, highs = _interval(draws)
    names = best.form.names(world)
    return Curve(
        settings=series.settings,
        table=table,
        form=best.form.name,
        parameters=[
            Parameter(name=name, value=value, low=low, high=high)
            for name, value, low, high in zip(names, map(float, best.parameters), lows, highs, strict=True)
        ],
        caches=_caches(tried),
        contention=contention,
        points=_sized(points, single, choice),
        mape=choice.mape,
        most=choice.most,
        noise=noise_floor(series),
        thesis_mape=_of_the_thesis(points, world),
        beyond=beyond,
        tried=[_tried(one) for one in tried],
        draws=[[float(value) for value in draw] for draw in draws],
    )


def contention_of(series: Series) -> float:
    """By how much a packet costs more for each further core, from sizes that several numbers of cores have run; never below 0.

    The Universal Scalability Law's contention (Gunther, 2007): c cores carry c/(1 + s (c - 1)) times what one does.
    """
    shares, further = [], []
    for size in series.sizes():
        runs = series.at(size)
        fewest = min(run.cores for run in runs)
        base = np.median([run.ns for run in runs if run.cores == fewest])
        for cores in {run.cores for run in runs} - {fewest}:
            here = np.median([run.ns for run in runs if run.cores == cores])
            shares.append(here / base - 1)
            further.append((cores - 1) - here / base * (fewest - 1))
    if not further:
        return 0.0
    return float(max(np.median(np.array(shares) / np.maximum(further, 1e-9)), 0.0))


def on_one_core(series: Series, contention: float) -> Series:
    """The series as if every run had had one core."""
    runs = tuple(replace(run, ns=run.ns / (1 + contention * (run.cores - 1))) for run in series.runs)
    return replace(series, runs=runs)


def bootstrap(best: Candidate, points: Points, series: Series, world: World, seed: int) -> list[np.ndarray]:
    """Parameters of DRAWS fits to costs redrawn: the runs of each size among themselves, and then the form's own relative
    residuals, widened for the parameters that were taken from them. Fits that fail are left out."""
    rng = np.random.default_rng(seed)
    fitted = best.form.at(best.parameters, points.entries, points.bytes, world)
    residuals = points.ns / fitted - 1
    free = max(len(points) - int(np.count_nonzero(best.parameters)), 1)
    residuals = (residuals - residuals.mean()) * np.sqrt(len(points) / free)
    runs = [np.array([run.ns for run in series.at(size)]) for size in points.entries]
    draws = []
    for _ in range(DRAWS):
        medians = np.array([np.median(rng.choice(ns, len(ns))) / np.median(ns) for ns in runs])
        redrawn = fitted * medians * (1 + rng.choice(residuals, len(points)))
        try:
            draws.append(best.form.fit(replace(points, ns=np.maximum(redrawn, 1e-3)), world))
        except NoFit:
            continue
    return draws


def _interval(draws: list[np.ndarray]) -> tuple[Sequence[float | None], Sequence[float | None]]:
    if len(draws) < DRAWS // 2:
        unknown = [None] * (len(draws[0]) if draws else 99)
        return unknown, unknown
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(np.array(draws), [tail, 100 - tail], axis=0)
    return [float(x) for x in low], [float(x) for x in high]


def _refuse_what_says_nothing(series: Series, points: Points) -> None:
    count = len(points)
    if count < heldout.LEAST_SIZES:
        sizes = ", ".join(f"{n:g}" for n in points.entries)
        raise UserError(
            f"{series.name}: {count} size{'' if count == 1 else 's'} of the table ({sizes}): a model that is judged by what it has "
            f"not seen needs {heldout.LEAST_SIZES} or more",
            remedy=HELP,
        )
    if np.ptp(points.ns) == 0:
        raise UserError(
            f"{series.name}: all {count} sizes cost the same to the last digit, {points.ns[0]:g} ns: the cost that was chosen "
            "does not see the table",
            remedy="another --of: table, pipeline, or a column of the study",
        )


def _chosen(tried: list[Candidate], form: str | None, series: Series) -> Candidate:
    """Raises UserError where none fits, or the one that was asked for does not."""
    if form is not None:
        named = next((one for one in tried if one.form.name == form), None)
        known = ", ".join(one.form.name for one in tried)
        if named is None:
            raise UserError(
                f"--form {form}: no such form, or none for this table with what is known of the host",
                remedy=f"one of {known}",
            )
        if named.held is None:
            raise UserError(f"{series.name}: {form} does not fit: {named.why}", remedy=HELP)
        return named
    try:
        return heldout.chosen(tried)
    except NoFit as no:
        raise UserError(f"{series.name}: no form fits: {no}", remedy=HELP) from None


def _caches(tried: list[Candidate]) -> list[float] | None:
    found = next((one.parameters for one in tried if one.form is CACHE), None)
    return None if found is None else [float(value) for value in found]


def _of_the_choice(points: Points, world: World, best: Candidate) -> heldout.Held:
    """The held-out error of choosing and fitting; of fitting alone where too few sizes are left to choose with."""
    try:
        return heldout.of_the_choice(points, world)
    except NoFit:
        return best.held


def _of_the_thesis(points: Points, world: World) -> float | None:
    """As `_of_the_choice`, among the thesis' forms alone; None where they cannot be held out."""
    try:
        return heldout.of_the_choice(points, world, heldout.THESIS).mape
    except NoFit:
        return None


def _beyond(points: Points, world: World, asked: float | None) -> Beyond | None:
    """None where too few sizes lie on either side. Raises UserError where that is so for a bound that was asked for."""
    bound = asked or points.entries[-1] / PARTS
    try:
        form, held = heldout.beyond(points, world, bound)
    except NoFit as no:
        if asked:
            raise UserError(f"--bound {asked:g}: {no}", remedy="a bound with 4 sizes below it and one above") from None
        return None
    try:
        thesis, of_thesis = heldout.beyond(points, world, bound, heldout.THESIS)
    except NoFit:
        thesis = of_thesis = None
    return Beyond(
        bound=bound,
        form=form.name,
        mape=held.mape,
        most=held.most,
        thesis_form=thesis and thesis.name,
        thesis_mape=of_thesis and of_thesis.mape,
    )


def _sized(points: Points, series: Series, held: heldout.Held) -> list[Sized]:
    errors = dict(zip(held.entries, held.errors, strict=True))
    return [
        Sized(
            entries=n,
            bytes=bytes_,
            ns=ns,
            runs=[run.ns for run in series.at(n)],
            held_out=ns * (1 + errors[n]) if n in errors else None,
        )
        for n, bytes_, ns in zip(
            *(map(float, column) for column in (points.entries, points.bytes, points.ns)), strict=True
        )
    ]


def _tried(one: Candidate) -> Tried:
    return Tried(
        form=one.form.name,
        words=one.form.words,
        thesis=one.form.thesis,
        mape=one.held and one.held.mape,
        most=one.held and one.held.most,
        onwards=one.onwards and one.onwards.mape,
        why=one.why,
    )


def _table(series: Series, axis: str) -> dict:
    """The axis' table as resolved; empty where no run directory says it."""
    table = next((run.parts.table_at(axis) for run in series.runs if run.parts), None)
    return own_settings(table) if table else {}
