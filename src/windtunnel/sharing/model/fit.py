"""Fits a model to points: medians of each setting, the fitted form, intervals, and held-out errors."""

from collections.abc import Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from statistics import median
from typing import Any

import numpy as np

from windtunnel.errors import UserError
from windtunnel.model.record import Parameter
from windtunnel.sharing.model.form import OVERLOAD, P99, Capacity, fit_capacity, fit_p99
from windtunnel.sharing.model.points import Point
from windtunnel.sharing.model.record import NAMES, Errors, Held, SharingModel
from windtunnel.sharing.simulate.plan import Machine
from windtunnel.version import __version__

DRAWS = 200
GOAL = 0.20
"""Goal for the held-out error."""
LEAST_SETTINGS = 8
HELP = "more tenants, slices and rates; at least two of them overloaded"
Fit = tuple[Capacity, P99]


def fit(
    points: Sequence[Point],
    source: str,
    host: dict[str, Any],
    machine: Machine,
    slicer: str | None = None,
    left_out: Sequence[str] = (),
    seed: int = 1,
) -> SharingModel:
    """`slicer`: selects one of several. Raises UserError where the points do not suffice."""
    slicer = _slicer(points, slicer)
    settings = medians([p for p in points if p.slicer == slicer])
    if len(settings) < LEAST_SETTINGS:
        raise UserError(f"{source}: {len(settings)} settings of {slicer}; a model needs {LEAST_SETTINGS}", remedy=HELP)
    whole = _fitted(settings, machine)
    if whole is None:
        raise UserError(f"{source}: the points determine neither capacity nor p99", remedy=HELP)
    held = [_held(settings, n, machine) for n in range(len(settings))]
    draws = _draws(settings, machine, np.random.default_rng(seed))
    parameters = _parameters(whole, draws)
    return SharingModel(
        source=source,
        fitted=datetime.now(UTC),
        slicer=slicer,
        host=host,
        versions={"fitted by": __version__},
        l2_bytes=machine.l2_bytes,
        capacity=[one for one in parameters if one.name in NAMES[:3]],
        p99=[one for one in parameters if one.name in NAMES[3:]],
        draws=draws,
        held=held,
        p99_errors=errors([(one.p99_ns, one.point.p99_ns) for one in held if one.p99_ns and one.point.p99_ns]),
        peak_errors=errors([(one.peak, one.point.served) for one in held if one.peak]),
        left_out=list(left_out),
    )


def _slicer(points: Sequence[Point], asked: str | None) -> str:
    names = sorted({point.slicer for point in points})
    if asked is None and len(names) == 1:
        return names[0]
    if asked not in names:
        what = "several slicers" if asked is None else f"no points of {asked}"
        raise UserError(f"{what}: {', '.join(names)}", remedy="select one with --slicer")
    return asked


def medians(points: Sequence[Point]) -> list[Point]:
    """One point a setting."""
    groups: dict[tuple[str, int, int, int, int, float], list[Point]] = {}
    for point in points:
        groups.setdefault(point.setting, []).append(point)
    return [_median(group) for group in groups.values()]


def _median(group: list[Point]) -> Point:
    p99 = [p.p99_ns for p in group if p.p99_ns is not None]
    return group[0].model_copy(
        update={"served": median(p.served for p in group), "p99_ns": median(p99) if p99 else None}
    )


def _fitted(points: Sequence[Point], machine: Machine) -> Fit | None:
    capacity = fit_capacity(points, machine)
    if capacity is None:
        return None
    p99 = fit_p99(points, capacity, machine)
    return (capacity, p99) if p99 else None


def _held(settings: list[Point], left: int, machine: Machine) -> Held:
    """The prediction of one setting from the others."""
    point = settings[left]
    found = _fitted([p for n, p in enumerate(settings) if n != left], machine)
    if found is None:
        return Held(point=point, p99_ns=None, peak=None)
    capacity, p99 = found
    try:
        said = p99.at(point, capacity, machine)
    except ValueError:
        said = float("inf")
    full = point.rate > OVERLOAD * point.served
    peak = capacity.peak(point.tenants, point.slice_ns, point.service_ns, point.working_set, machine)
    return Held(point=point, p99_ns=said if np.isfinite(said) and not full else None, peak=peak if full else None)


def errors(pairs: Sequence[tuple[float, float]]) -> Errors:
    """Of predicted and measured."""
    apart = [abs(said / measured - 1) for said, measured in pairs if measured]
    if not apart:
        return Errors(mape=None, most=None, within=None, points=0)
    within = sum(one <= GOAL for one in apart) / len(apart)
    return Errors(mape=float(np.mean(apart)), most=max(apart), within=within, points=len(apart))


def _values(found: Fit) -> list[float | None]:
    capacity, p99 = found
    return [*astuple(capacity), *astuple(p99)]


def _draws(settings: list[Point], machine: Machine, rng: np.random.Generator) -> list[list[float | None]]:
    """Fits to resampled settings; a sample that determines no fit is left out."""
    found: list[list[float | None]] = []
    for _ in range(DRAWS):
        redrawn = [settings[i] for i in rng.integers(0, len(settings), len(settings))]
        if drawn := _fitted(redrawn, machine):
            found.append(_values(drawn))
    return found


def _parameters(whole: Fit, draws: list[list[float | None]]) -> list[Parameter]:
    """Those that were fitted, with 95% intervals."""
    said = []
    for at, (name, value) in enumerate(zip(NAMES, _values(whole), strict=True)):
        if value is None:
            continue
        drawn = [one for draw in draws if (one := draw[at]) is not None]
        low: float | None = None
        high: float | None = None
        if len(drawn) >= DRAWS / 2:
            low, high = map(float, np.percentile(drawn, [2.5, 97.5]))
        said.append(Parameter(name=name, value=value, low=low, high=high))
    return said
