"""Predictions of a fitted model for sizes that were not run, their intervals, and the range in which they are made."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from windtunnel.errors import UserError
from windtunnel.parts.models import heldout
from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.model_record import Curve, LatencyCurve, ModelRecord
from windtunnel.parts.models.points import World, world_of
from windtunnel.parts.models.popularity import misses
from windtunnel.scenario.quantities import UNITS, parse
from windtunnel.stats.bootstrap import middle_part

FURTHEST = 3.0
"""Factor beyond the largest or below the smallest size up to which a curve predicts."""
SAMPLES = 2000
AnyCurve = TypeVar("AnyCurve", Curve, LatencyCurve)


@dataclass(frozen=True)
class Prediction:
    """The cost of one pipeline or table; ns per packet on one of the cores. Raises UserError for a cost that is not a number above 0: the
    numbers of a model may be anything, each by itself in its bounds."""

    ns: float
    low: float
    high: float
    """95% of what runs at this size will measure: of the parameters and of the held-out errors of the form, in which is the noise of runs."""
    cores: int
    of: str
    """The cost that it predicts: table, pipeline, or a column."""
    state: str | None
    """Host state that the models were fitted in; None: not known, or several."""
    marks: list[str] = field(default_factory=list)
    """Sentences that are shown with the number."""

    def __post_init__(self) -> None:
        if not all(0 < ns < np.inf for ns in (self.ns, self.low, self.high)):
            raise UserError(
                f"the model predicts {self.ns:g} ns ({self.low:g} to {self.high:g}), which is not a cost above 0",
                remedy="another size, or fit the model again from its study",
            )

    @property
    def mpps(self) -> float:
        return 1e3 * self.cores / self.ns

    @property
    def mpps_low(self) -> float:
        return 1e3 * self.cores / self.high

    @property
    def mpps_high(self) -> float:
        return 1e3 * self.cores / self.low


def predict(
    model: ModelRecord,
    entries: float,
    cores: int = 1,
    settings: Sequence[str] = (),
    extrapolate: bool = False,
    zipf: float = 0.0,
) -> Prediction:
    """The cost at a size. `settings`: KEY=VALUE as `--set` takes them, enough to name one curve; `zipf`: exponent of the keys' popularity, if the curve was
    measured with uniform keys. Raises UserError if the model has no such curve, and for sizes that are too far from the measured ones."""
    curve, world = select(model.curves, settings), world_of(model.ladder)
    marks = quality_marks(model) + range_marks(curve, entries, extrapolate)
    samples = curve_samples(curve, entries, world, np.random.default_rng(1))
    ns = curve_ns(curve, entries, world)
    if zipf:
        share = zipf_share(curve, entries, world, zipf)
        ns, samples = ns * share, samples * share
        marks.append(f"keys by Zipf's law with exponent {zipf:g}: computed from uniform keys by Che's approximation")
    marks += _core_marks(curve, cores)
    more = 1 + curve.contention * (cores - 1)
    low, high = band(samples * more)
    return Prediction(ns * more, low, high, cores, model.response, model.state, marks)


def select(curves: Sequence[AnyCurve], settings: Sequence[str]) -> AnyCurve:
    """The one curve of these settings. Raises UserError if there is none, or several."""
    wanted = dict(_pair(text) for text in settings)
    known = sorted({path for curve in curves for path in curve.settings})
    for path in wanted:
        if path not in known:
            raise UserError(
                f"--set {path}: the model's curves do not differ in it",
                remedy=f"they differ in {', '.join(known)}" if known else "the model has one curve: leave out --set",
            )
    fitting = [c for c in curves if all(_same(c.settings[path], text) for path, text in wanted.items())]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        settings_text = "; ".join(", ".join(f"{p}={v}" for p, v in curve.settings.items()) for curve in curves)
        raise UserError("no curve of the model has these settings", remedy=f"it has {settings_text}")
    open_ = [path for path in known if len({str(curve.settings[path]) for curve in fitting}) > 1]
    levels = {path: sorted({str(curve.settings[path]) for curve in fitting}) for path in open_}
    raise UserError(
        f"{len(fitting)} curves of the model fit",
        remedy="select one: " + "; ".join(f"--set {path}={'|'.join(values)}" for path, values in levels.items()),
    )


def quality_marks(model: ModelRecord) -> list[str]:
    """How good the runs are that the model was fitted to: a prediction is no better."""
    return [f"the model rests on {doubt}" for doubt in model.provenance.doubts]


def range_marks(curve: Curve, entries: float, extrapolate: bool) -> list[str]:
    """No mark inside the sizes that were run, one outside of them.

    Raises UserError for sizes further than FURTHEST times outside, without `extrapolate`.
    """
    low, high = curve.points[0].entries, curve.points[-1].entries
    times = max(entries / high, low / max(entries, 1e-9))
    if times <= 1:
        return []
    edge = f"{high:g}, the largest size that was run" if entries > high else f"{low:g}, the smallest size that was run"
    if times <= FURTHEST:
        return [f"beyond {edge}"]
    if not extrapolate:
        raise UserError(
            f"{entries:g} entries are {times:.3g} times beyond {edge}: models predict up to {FURTHEST:g} times beyond",
            remedy="run this size, or predict it with --extrapolate",
        )
    return [f"EXTRAPOLATED {times:.3g} times beyond {edge}: verify it with a run"]


def curve_ns(curve: Curve, entries: float, world: World) -> float:
    """ns per packet on one core."""
    return float(costs_at(curve, np.array([entries]), world)[0])


def costs_at(curve: Curve, entries: Floats, world: World) -> Floats:
    """ns per packet on one core, at each size."""
    costs: Floats = _costs_of(curve, [[parameter.value for parameter in curve.parameters]], entries, world)[0]
    return costs


def drawn_costs(curve: Curve, entries: Floats, world: World) -> Floats:
    """The same of each fit of the bootstrap, draws x sizes; of the curve itself, if it has none."""
    return _costs_of(curve, curve.draws, entries, world) if curve.draws else costs_at(curve, entries, world)[None]


def curve_samples(curve: Curve, entries: float, world: World, rng: np.random.Generator) -> Floats:
    """SAMPLES costs, each from a fit of the bootstrap and one held-out error of the choice."""
    return samples_of(curve, drawn_costs(curve, np.array([entries]), world)[:, 0], rng)


def samples_of(curve: Curve, costs: Floats, rng: np.random.Generator) -> Floats:
    """The same, from the costs at a size, one of each fit."""
    # an error of the prediction p is p/true - 1, so the true value is p/(1 + error)
    errors = np.array([point.held_out / point.ns - 1 for point in curve.points if point.held_out is not None])
    samples: Floats = rng.choice(costs, SAMPLES) / np.maximum(1 + rng.choice(errors, SAMPLES), 0.05)
    return samples


def band(samples: Floats) -> tuple[float, float]:
    with np.errstate(invalid="ignore"):  # infinite ones, which `Prediction` refuses
        low, high = middle_part(samples)
    return float(low), float(high)


def bytes_at(curve: Curve, entries: Floats) -> Floats:
    """Working sets between the sizes that were run, by ratios; beyond them in proportion to the entries."""
    sizes = np.array([point.entries for point in curve.points])
    bytes_ = np.array([point.bytes for point in curve.points])
    inside = np.clip(entries, sizes[0], sizes[-1])
    at_inside: Floats = np.exp(np.interp(np.log(inside), np.log(sizes), np.log(bytes_)))
    return at_inside * entries / inside


def zipf_share(curve: Curve, entries: float, world: World, exponent: float) -> float:
    """Cost with keys of this popularity, in parts of that of uniform keys. Raises UserError for a curve without caches."""
    if curve.caches is None:
        raise UserError(
            "the model was fitted without a ladder: it has no caches, and --zipf needs them",
            remedy="windtunnel model fit --ladder FILE, or run keys of this popularity",
        )
    last, t0, *levels = curve.caches
    [bytes_] = bytes_at(curve, np.array([entries]))
    uniform = skewed = t0
    for step, cost in zip([*world.steps, last], levels, strict=True):
        capacity = entries * step / bytes_
        uniform += cost * entries / (entries + capacity)
        skewed += cost * misses(entries, capacity, exponent)
    return skewed / uniform


def _costs_of(curve: Curve, fits: Sequence[Sequence[float]], entries: Floats, world: World) -> Floats:
    """What the form of the curve costs with the parameters of each fit, fits x sizes. It may be infinite, or no number: `Prediction` refuses it."""
    form = next(form for form in heldout.FORMS if form.name == curve.form)
    bytes_, of_table = bytes_at(curve, entries), world.with_table(curve.table)
    with np.errstate(all="ignore"):
        return np.array([form.at(np.array(parameters), entries, bytes_, of_table) for parameters in fits])


def _core_marks(curve: Curve, cores: int) -> list[str]:
    if cores == 1 or curve.contention:
        return []
    return [f"{cores} cores: proportional; no contention between cores was measured"]


def _pair(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set {text}: not KEY=VALUE", remedy="as in --set workload.0.table.0.lookup=bulk")
    return path.strip(), value.strip()


def _same(cell: Any, text: str) -> bool:
    """Whether a cell of a study's table has the value that a user typed."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return str(cell).lower() == text.lower() if isinstance(cell, bool) else str(cell) == text
    for kind in UNITS:
        try:
            return float(parse(kind, int(text) if text.isdigit() and kind == "count" else text)) == float(cell)
        except ValueError:
            continue
    try:
        return float(text) == float(cell)
    except ValueError:
        return False
