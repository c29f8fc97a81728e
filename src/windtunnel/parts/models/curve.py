"""One curve: the form that a series is fitted with, its intervals, and its held-out errors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from windtunnel.errors import UserError
from windtunnel.parts.models import heldout
from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.forms import CACHE, Form
from windtunnel.parts.models.heldout import Candidate, HeldOut, JudgedForm
from windtunnel.parts.models.model_record import Beyond, Curve, Parameter, Sized, Tried
from windtunnel.parts.models.observe import Series, noise_floor, points_of
from windtunnel.parts.models.points import NoFit, Points, World
from windtunnel.parts.models.table_settings import own_settings
from windtunnel.stats.bootstrap import OF_CURVES, measured_again, middle_part

PARTS = 10
"""`beyond` fits up to the largest size divided by this, by default."""
HELP = "more sizes, over a wider range (log = { from = 100, to = 10M, points = 11 }), or more repeats"


@dataclass(frozen=True)
class Options:
    """How a curve is fitted."""

    form: str | None = None
    """None: the one with the least held-out error."""
    bound: float | None = None
    """Bound of the test beyond it; None: a tenth of the largest size."""
    seed: int = 1


def fit_curve(series: Series, axis: str, world: World, options: Options) -> Curve:
    """The curve of a series. Raises UserError if the series does not determine a form."""
    table = _table(series, axis)
    world = world.with_table(table)
    contention = contention_of(series)
    single = on_one_core(series, contention)
    points = points_of(single)
    _refuse_too_few(series, points)
    beyond = _beyond(points, world, options.bound)
    tried = heldout.candidates(points, world, _forms(world, options.form))
    best = _chosen(tried, options.form, series)
    choice = best.held_out if options.form else _of_the_choice(points, world, best)
    draws = bootstrap(best, points, single, world, options.seed)
    names = best.form.names(world)
    lows, highs = _interval(draws, len(names))
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
        tried=[_tried_row(candidate) for candidate in tried],
        draws=[[float(value) for value in draw] for draw in draws],
    )


def contention_of(series: Series) -> float:
    """Share by which a packet costs more for each further core, from sizes with several numbers of cores; never below 0.

    The Universal Scalability Law's contention (Gunther, 2007): c cores carry c/(1 + s (c - 1)) times what one does.
    """
    shares, further = [], []
    for size in series.sizes():
        runs = series.at(size)
        fewest = min(run.cores for run in runs)
        base = np.median([run.ns for run in runs if run.cores == fewest])
        for cores in {run.cores for run in runs} - {fewest}:
            cost = np.median([run.ns for run in runs if run.cores == cores])
            shares.append(cost / base - 1)
            further.append((cores - 1) - cost / base * (fewest - 1))
    if not further:
        return 0.0
    return float(max(np.median(np.array(shares) / np.maximum(further, 1e-9)), 0.0))


def on_one_core(series: Series, contention: float) -> Series:
    """The series as if every run had had one core."""
    runs = tuple(replace(run, ns=run.ns / (1 + contention * (run.cores - 1))) for run in series.runs)
    return replace(series, runs=runs)


def bootstrap(best: JudgedForm, points: Points, series: Series, world: World, seed: int) -> list[Floats]:
    """Parameters of fits to costs as they might have been measured. Fits that fail are left out."""
    fitted = best.form.at(best.parameters, points.entries, points.bytes, world)
    runs = [np.array([run.ns for run in series.at(size)]) for size in points.entries]
    draws: list[Floats] = []
    for ns in measured_again(fitted, points.ns, runs, int(np.count_nonzero(best.parameters)), seed):
        try:
            draws.append(best.form.fit(replace(points, ns=np.maximum(ns, 1e-3)), world))
        except NoFit:
            continue
    return draws


def _interval(draws: list[Floats], parameters: int) -> tuple[Sequence[float | None], Sequence[float | None]]:
    if len(draws) < OF_CURVES // 2:
        return [None] * parameters, [None] * parameters
    low, high = middle_part(np.array(draws))
    return low.tolist(), high.tolist()


def _refuse_too_few(series: Series, points: Points) -> None:
    count = len(points)
    if count < heldout.LEAST_SIZES:
        sizes = ", ".join(f"{n:g}" for n in points.entries)
        raise UserError(
            f"{series.name}: {count} size{'' if count == 1 else 's'} of the table ({sizes}): held-out errors need "
            f"{heldout.LEAST_SIZES} or more",
            remedy=HELP,
        )
    if np.ptp(points.ns) == 0:
        raise UserError(
            f"{series.name}: all {count} sizes cost exactly the same, {points.ns[0]:g} ns: the chosen cost "
            "does not depend on the table",
            remedy="another --of: table, pipeline, or a column of the study",
        )


def _forms(world: World, form_name: str | None) -> list[Form]:
    """Forms to choose from, and the one asked for. Raises UserError for an unknown form, or one that needs what is not known."""
    forms, possible = heldout.usable(world), {form.name: form for form in heldout.possible(world)}
    if form_name is not None and form_name not in possible:
        raise UserError(
            f"--form {form_name}: not a form for this table on this host", remedy=f"one of {', '.join(possible)}"
        )
    if form_name is not None and possible[form_name] not in forms:
        forms.append(possible[form_name])
    return forms


def _chosen(tried: list[Candidate], form: str | None, series: Series) -> JudgedForm:
    """The best form, or `form`. Raises UserError if no form fits, or `form` does not."""
    if form is not None:
        candidate = next(other for other in tried if other.form.name == form)
        if candidate.judged is None:
            raise UserError(f"{series.name}: {form} does not fit: {candidate.why}", remedy=HELP)
        return candidate.judged
    try:
        return heldout.chosen(tried)
    except NoFit as no:
        raise UserError(f"{series.name}: no form fits: {no}", remedy=HELP) from None


def _caches(tried: list[Candidate]) -> list[float] | None:
    parameters = next((candidate.parameters for candidate in tried if candidate.form is CACHE), None)
    return None if parameters is None else [float(value) for value in parameters]


def _of_the_choice(points: Points, world: World, best: JudgedForm) -> HeldOut:
    """The held-out error of choosing and fitting; of fitting alone if too few sizes are left to choose with."""
    try:
        return heldout.of_the_choice(points, world)
    except NoFit:
        return best.held_out


def _of_the_thesis(points: Points, world: World) -> float | None:
    """The error of `_of_the_choice` among the thesis' forms alone; None if they cannot be held out."""
    try:
        return heldout.of_the_choice(points, world, heldout.THESIS).mape
    except NoFit:
        return None


def _beyond(points: Points, world: World, asked_bound: float | None) -> Beyond | None:
    """The test above a bound; None if too few sizes lie on either side. Raises UserError if that is so for a bound that was asked for."""
    bound = asked_bound or points.entries[-1] / PARTS
    try:
        form, held_out = heldout.beyond(points, world, bound)
    except NoFit as no:
        if asked_bound:
            raise UserError(
                f"--bound {asked_bound:g}: {no}", remedy="a bound with 4 sizes below it and one above"
            ) from None
        return None
    thesis: Form | None = None
    thesis_held_out: HeldOut | None = None
    try:
        thesis, thesis_held_out = heldout.beyond(points, world, bound, heldout.THESIS)
    except NoFit:
        pass
    return Beyond(
        bound=bound,
        form=form.name,
        mape=held_out.mape,
        most=held_out.most,
        thesis_form=thesis and thesis.name,
        thesis_mape=thesis_held_out and thesis_held_out.mape,
    )


def _sized(points: Points, series: Series, held_out_errors: HeldOut) -> list[Sized]:
    errors = dict(zip(held_out_errors.entries, held_out_errors.errors, strict=True))
    return [
        Sized(
            entries=n,
            bytes=bytes_,
            ns=ns,
            runs=[run.ns for run in series.at(n)],
            cores=[run.cores for run in series.at(n)],
            held_out=ns * (1 + errors[n]) if n in errors else None,
        )
        for n, bytes_, ns in zip(
            *(map(float, column) for column in (points.entries, points.bytes, points.ns)), strict=True
        )
    ]


def _tried_row(candidate: Candidate) -> Tried:
    return Tried(
        form=candidate.form.name,
        words=candidate.form.formula,
        thesis=candidate.form.thesis,
        mape=candidate.judged and candidate.judged.held_out.mape,
        most=candidate.judged and candidate.judged.held_out.most,
        onwards=candidate.judged and candidate.judged.onwards and candidate.judged.onwards.mape,
        why=candidate.why,
    )


def _table(series: Series, axis: str) -> dict[str, Any]:
    """The axis' table as resolved; empty if no run directory has it."""
    table = next((run.parts.table_at(axis) for run in series.runs if run.parts), None)
    return own_settings(table) if table else {}
