"""Held-out errors: errors of a form at sizes that it was not fitted to. Forms are chosen and judged by nothing else.

leave one out   each size in turn is left out with all its runs; the form is fitted to the rest and predicts it
onwards         fitted to the smaller sizes, predicts the next two; from several places
beyond          fitted up to a bound, predicts above it
The error of a choice leaves the size out of choosing the form too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from windtunnel.parts.models import forms, thesis
from windtunnel.parts.models.forms import Form
from windtunnel.parts.models.points import NoFit, Points, World

FORMS: tuple[Form, ...] = (
    forms.FLAT,
    forms.LINEAR,
    forms.DEPTH,
    forms.POWER,
    thesis.ONE_PIECE,
    thesis.TWO_PIECES,
    forms.CACHE,
    forms.LADDER,
    forms.CACHE_AND_LADDER,
    forms.CACHE_AND_PARTS,
)
from windtunnel.parts.models.arrays import Floats, Mask

_PLACES = 4
LEAST_SIZES = 4
"""Sizes below which nothing can be left out and still be fitted."""


@dataclass(frozen=True)
class HeldOut:
    """Relative errors (predicted/measured - 1) at sizes that were held out."""

    entries: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def mape(self) -> float:
        """Mean absolute error, a share."""
        return float(np.mean(np.abs(self.errors)))

    @property
    def most(self) -> float:
        return float(np.max(np.abs(self.errors)))


@dataclass(frozen=True)
class JudgedForm:
    """A form that was fitted to all points, and held out."""

    form: Form
    parameters: Floats
    held_out: HeldOut
    """Errors with each size in turn left out."""
    onwards: HeldOut | None

    @property
    def score(self) -> float:
        """Forms are chosen by it: mean absolute error of all that was held out, within the sizes and beyond them."""
        errors = (*self.held_out.errors, *(self.onwards.errors if self.onwards else ()))
        return float(np.mean(np.abs(errors)))


@dataclass(frozen=True)
class Candidate:
    """A form tried on all points."""

    form: Form
    parameters: Floats | None
    """None: it does not fit."""
    judged: JudgedForm | None
    """None: it does not fit, or cannot be held out."""
    why: str | None
    """Why it does not fit, or cannot be held out."""


def possible(world: World) -> list[Form]:
    """Forms that need nothing unknown."""
    has_parts = world.touched(np.ones(1)) is not None
    return [
        form for form in FORMS if (world.has_ladder or not form.needs_ladder) and (has_parts or not form.needs_parts)
    ]


def usable(world: World) -> list[Form]:
    """Forms to choose from. If ladder and parts are known, only means of two forms: the order of single forms by the score depends on
    a few sizes, and their errors beyond the sizes were up to three times as large."""
    if world.levels_off and world.touched(np.ones(1)) is not None:
        return [forms.FLAT, forms.CACHE_AND_LADDER, forms.CACHE_AND_PARTS]
    return [form for form in possible(world) if not form.needs_parts and not (form.grows and world.levels_off)]


@lru_cache(maxsize=1024)
def _fit(form: Form, points: Points, world: World) -> Floats:
    """The form's fit, made once for the same points: who chooses again without each size leaves out each pair of sizes twice."""
    return form.fit(points, world)


def leave_one_out(form: Form, points: Points, world: World) -> HeldOut:
    """The errors with each size in turn left out. Raises NoFit if the form does not fit without one of them."""
    errors = []
    for i in range(len(points)):
        x = _fit(form, points.without(i), world)
        errors.append(float(error_at(form, x, points, points.only(i), world)[0]))
    return HeldOut(tuple(points.entries), tuple(errors))


def onwards(form: Form, points: Points, world: World) -> HeldOut | None:
    """The errors at the next two sizes, from each of the last few places from which the form can be fitted; None if there is none."""
    entries: list[float] = []
    errors: list[float] = []
    for known in range(max(LEAST_SIZES, len(points) - _PLACES - 1), len(points)):
        places = np.arange(len(points))
        try:
            x = _fit(form, points.where(places < known), world)
        except NoFit:
            continue
        behind = (places >= known) & (places < known + 2)
        entries += list(points.entries[behind])
        errors += list(error_at(form, x, points, behind, world))
    return HeldOut(tuple(entries), tuple(errors)) if errors else None


def error_at(form: Form, x: Floats, points: Points, where: Mask, world: World) -> Floats:
    chosen_points = points.where(where)
    return form.at(x, chosen_points.entries, chosen_points.bytes, world) / chosen_points.ns - 1


def candidates(points: Points, world: World, only: Sequence[Form] | None = None) -> list[Candidate]:
    """Every form, or `only` these, whether it fits or not."""
    tried = []
    for form in usable(world) if only is None else only:
        try:
            x = _fit(form, points, world)
        except NoFit as no:
            tried.append(Candidate(form, None, None, str(no)))
            continue
        try:
            held_out = leave_one_out(form, points, world)
            tried.append(Candidate(form, x, JudgedForm(form, x, held_out, onwards(form, points, world)), None))
        except NoFit as no:
            tried.append(Candidate(form, x, None, f"without one of the sizes: {no}"))
    return tried


def chosen(tried: Sequence[Candidate]) -> JudgedForm:
    """The one with the least held-out error. Raises NoFit if none could be held out."""
    judged = [candidate.judged for candidate in tried if candidate.judged is not None]
    if not judged:
        raise NoFit("; ".join(f"{candidate.form.name}: {candidate.why}" for candidate in tried))
    return min(judged, key=lambda candidate: candidate.score)


def of_the_choice(points: Points, world: World, only: Sequence[Form] | None = None) -> HeldOut:
    """The errors of the whole procedure with each size in turn left out: the form is chosen again without it, among `only` these. Raises NoFit."""
    errors = []
    for i in range(len(points)):
        best = chosen(candidates(points.without(i), world, only))
        errors.append(float(error_at(best.form, best.parameters, points, points.only(i), world)[0]))
    return HeldOut(tuple(points.entries), tuple(errors))


def beyond(points: Points, world: World, bound: float, only: Sequence[Form] | None = None) -> tuple[Form, HeldOut]:
    """The form that is chosen and fitted up to `bound` entries, and its errors above it; `only` among these forms. Raises NoFit if either part has too few sizes."""
    known = points.entries <= bound
    if known.all() or known.sum() < LEAST_SIZES:
        raise NoFit(f"{known.sum()} sizes up to {bound:g} and {(~known).sum()} above it")
    best = chosen(candidates(points.where(known), world, only))
    errors = error_at(best.form, best.parameters, points, ~known, world)
    return best.form, HeldOut(tuple(points.entries[~known]), tuple(errors))


THESIS = tuple(form for form in FORMS if form.thesis)
