"""The forms that a table's cost may take: each is fitted to points, and gives a cost at other sizes.

All are fitted to relative errors, with parameters that cannot be negative: a table does not get cheaper than nothing. What is
linear in its parameters is solved by non-negative least squares (Lawson and Hanson); the one parameter that is not, on a grid of
ratios that is then refined. So a fit has no starting values and no local minimum to fall into.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar, nnls

from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.points import NoFit, Points, World

_GRID = 32
FURTHEST_LEVEL = 2.0


@dataclass(frozen=True)
class Form:
    """One form. Parameters are an array in the order of `names(world)`."""

    name: str
    formula: str
    names: Callable[[World], list[str]]
    fit: Callable[[Points, World], Floats]
    """Raises NoFit."""
    at: Callable[[Floats, Floats, Floats, World], Floats]
    """Parameters, entries, bytes, world -> ns."""
    thesis: bool = False
    """One of the forms of Endrass's thesis."""
    needs_ladder: bool = False
    needs_parts: bool = False
    """Whether it needs `World.touched`."""
    grows: bool = False
    """Whether it grows without limit with the entries."""


def solve(columns: list[Floats], ns: Floats) -> tuple[Floats, float]:
    """Non-negative coefficients of the columns for the least squared relative error, and that error."""
    matrix = np.column_stack(columns) / ns[:, None]
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1.0
    try:
        coefficients, error = nnls(matrix / scale, np.ones_like(ns))
    except RuntimeError as failed:
        raise NoFit("non-negative least squares did not converge") from failed
    return coefficients / scale, float(error)


def search(low: float, high: float, columns: Callable[[float], list[Floats]], ns: Floats) -> Floats:
    """The value between `low` and `high` whose columns fit best, in front of their coefficients."""
    grid = np.linspace(np.log(low), np.log(high), _GRID)
    errors = [solve(columns(float(np.exp(x))), ns)[1] for x in grid]
    best = int(np.argmin(errors))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
    minimum = minimize_scalar(
        lambda x: solve(columns(float(np.exp(x))), ns)[1], bounds=bounds, method="bounded", options={"xatol": 1e-4}
    )
    chosen = minimum.x if minimum.fun <= errors[best] else grid[best]
    value = float(np.exp(chosen))
    return np.concatenate([[value], solve(columns(value), ns)[0]])


def search_two(low: float, high: float, column: Callable[[Floats], Floats], ns: Floats, rounds: int = 4) -> Floats:
    """The best value for a constant and one column, as `search` finds it, with all values of the grid at once: `column` takes them as a column vector. Every
    round is a grid about the best of the one before."""
    grid = np.linspace(np.log(low), np.log(high), _GRID)
    for _ in range(rounds):
        errors, constants, slopes = fit_two(column(np.exp(grid)[:, None]), ns)
        best = int(np.argmin(errors))
        value, a, b = float(np.exp(grid[best])), constants[best], slopes[best]
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)], _GRID)
    return np.array([value, a, b])


def fit_two(columns: Floats, ns: Floats) -> tuple[Floats, Floats, Floats]:
    """Squared relative errors, constants and slopes, one a row of `columns`: the best of the three ways to be non-negative."""
    weights, x = 1 / ns, columns / ns
    oo, xx, ox, o, s = weights @ weights, (x * x).sum(1), x @ weights, weights.sum(), x.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = oo * xx - ox**2
        a, b = (xx * o - ox * s) / inner, (oo * s - ox * o) / inner
        only_x = np.where(xx > 0, s / xx, 0.0)
    inside = (inner > 1e-12 * oo * xx) & (a >= 0) & (b >= 0)
    alone = o / oo
    error_alone, error_x = len(ns) - alone * o, len(ns) - only_x * s
    constant = np.where(inside, a, np.where(error_alone <= error_x, alone, 0.0))
    slope = np.where(inside, b, np.where(error_alone <= error_x, 0.0, only_x))
    errors = ((constant[:, None] * weights + slope[:, None] * x - 1) ** 2).sum(1)
    return errors, constant, slope


def checked(points: Points, form: str, least: int) -> None:
    """Raises NoFit for points that determine nothing."""
    if len(points) < least:
        raise NoFit(f"{form} needs {least} sizes, there are {len(points)}")
    if not (np.isfinite(points.ns).all() and (points.ns > 0).all()):
        raise NoFit("a cost is not a number above 0")


def _flat() -> Form:
    def fit(points: Points, world: World) -> Floats:
        checked(points, "flat", 2)
        return solve([np.ones_like(points.ns)], points.ns)[0]

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        return np.full_like(entries, x[0])

    return Form("flat", "t0", lambda world: ["t0"], fit, at)


def _linear() -> Form:
    def fit(points: Points, world: World) -> Floats:
        checked(points, "linear", 3)
        return solve([np.ones_like(points.ns), points.entries], points.ns)[0]

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        ns: Floats = x[0] + x[1] * entries
        return ns

    return Form("linear", "a + b n", lambda world: ["a", "b"], fit, at, thesis=True, grows=True)


def _depth() -> Form:
    """The form of tries and trees: one more step down for every doubling."""

    def fit(points: Points, world: World) -> Floats:
        checked(points, "depth", 3)
        return solve([np.ones_like(points.ns), np.log2(1 + points.entries)], points.ns)[0]

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        ns: Floats = x[0] + x[1] * np.log2(1 + entries)
        return ns

    return Form("depth", "a + b log2(1 + n)", lambda world: ["a", "b"], fit, at, grows=True)


def _power() -> Form:
    def fit(points: Points, world: World) -> Floats:
        checked(points, "power", 4)
        return search_two(0.03, 1.5, lambda p: points.entries**p, points.ns)

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        ns: Floats = x[1] + x[2] * entries ** x[0]
        return ns

    return Form("power", "a + b n^p", lambda world: ["p", "a", "b"], fit, at, grows=True)


def _cache() -> Form:
    """The form of cache levels: `steps` from the ladder, and one more that is fitted: it absorbs the last cache, the TLB and paging, and is no cache size. It is
    at most FURTHEST_LEVEL times the largest working set: a level far beyond all points would be a slope without an end."""

    def columns(bytes_: Floats, world: World) -> Callable[[float], list[Floats]]:
        known = [np.ones_like(bytes_), *(bytes_ / (bytes_ + step) for step in world.steps)]
        return lambda last: [*known, bytes_ / (bytes_ + last)]

    def names(world: World) -> list[str]:
        levels = [f"D{n + 1}" for n in range(len(world.steps) + 1)]
        return ["S_last", "t0", *levels]

    def fit(points: Points, world: World) -> Floats:
        # a parameter that is held at 0 costs no freedom: three sizes above the fewest parameters suffice, however many levels there are
        checked(points, "cache", 5)
        low = max([*world.steps, points.bytes[0]])
        return search(low, FURTHEST_LEVEL * max(points.bytes[-1], low), columns(points.bytes, world), points.ns)

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        return np.column_stack(columns(np.asarray(bytes_, float), world)(x[0])) @ x[1:]

    return Form("cache", "t0 + sum of D W/(W + S)", names, fit, at, needs_ladder=True)


def _ladder() -> Form:
    """The form of k loads that wait, in memory of s times the table's size. The ladder holds all about the host. With s far from 1, noise at
    two sizes would become a cliff at the next."""

    def fit(points: Points, world: World) -> Floats:
        checked(points, "ladder", 4)
        return search_two(0.25, 4.0, lambda s: world.load_ns(s * points.bytes) - world.rung_ns[0], points.ns)

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        ns: Floats = x[1] + x[2] * (world.load_ns(x[0] * bytes_) - world.rung_ns[0])
        return ns

    return Form("ladder", "t0 + k load(s W)", lambda world: ["s", "t0", "k"], fit, at, needs_ladder=True)


def _parts() -> Form:
    """The form of a load that waits in each part of the table that a lookup touches, in memory of s times the part's size."""

    def columns(entries: Floats, world: World) -> Callable[[float], list[Floats]]:
        parts = touched(entries, world)
        return lambda s: [
            np.ones_like(entries, dtype=float),
            *(world.load_ns(s * part) - world.rung_ns[0] for part in parts),
        ]

    def touched(entries: Floats, world: World) -> list[Floats]:
        parts = world.touched(entries)
        if parts is None:
            raise NoFit("which memory a lookup touches is not known")
        return parts

    def names(world: World) -> list[str]:
        return ["s", "t0", *(f"k{n + 1}" for n in range(len(touched(np.ones(1), world))))]

    def fit(points: Points, world: World) -> Floats:
        checked(points, "parts", len(names(world)) + 1)
        return search(0.25, 4.0, columns(points.entries, world), points.ns)

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        return np.column_stack(columns(entries, world)(x[0])) @ x[1:]

    return Form("parts", "t0 + sum of k load(s part)", names, fit, at, needs_ladder=True, needs_parts=True)


def _both(first: Form, second: Form) -> Form:
    """The geometric mean of two forms, each fitted alone: errors of opposite signs cancel (Bates and Granger,
    The Combination of Forecasts, 1969)."""

    def names(world: World) -> list[str]:
        return [f"{name} ({form.name})" for form in (first, second) for name in form.names(world)]

    def fit(points: Points, world: World) -> Floats:
        return np.concatenate([first.fit(points, world), second.fit(points, world)])

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        cut = len(first.names(world))
        return np.sqrt(first.at(x[:cut], entries, bytes_, world) * second.at(x[cut:], entries, bytes_, world))

    name = f"{first.name} & {second.name}"
    return Form(
        name,
        "the geometric mean of both",
        names,
        fit,
        at,
        needs_ladder=first.needs_ladder or second.needs_ladder,
        needs_parts=first.needs_parts or second.needs_parts,
        grows=first.grows or second.grows,
    )


FLAT, LINEAR, DEPTH, POWER = _flat(), _linear(), _depth(), _power()
CACHE, LADDER, PARTS = _cache(), _ladder(), _parts()
CACHE_AND_LADDER, CACHE_AND_PARTS = _both(CACHE, LADDER), _both(CACHE, PARTS)
