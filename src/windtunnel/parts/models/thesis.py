"""The thesis' throughput of a table (Endrass, 2019): T = A/(n + K) + D, in one piece, or in two that meet at the size that fills the last cache.

As a cost it is t = 1/T = b + d n/(n + k) with b = K/(A + D K), d = 1/D - b and k = K + A/D: one cache level. It is fitted
as such, and returned with the thesis' own parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.models.forms import Form, checked, search_two
from windtunnel.parts.models.points import NoFit, Points, World

PIECE = 3
"""Parameters of a piece, and sizes that it needs."""


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of T = A/(n + K) + D of one core, in Mpps; the thesis' b is divided out of its A and K."""

    a: float
    k: float
    d: float


PUBLISHED = ((1932.81057, 1.44044, 1608.13472, 4.97731), (19575541.84198, 55.85253, 2.75052, 2.67665))
"""Exact table, 4 x 4 B keys: A, b, K, D of T = c (A/(b n + K) + D) in Mpps, below and above the size that fills L3."""


def published_mpps(entries: Floats, cores: int = 1) -> Floats:
    """The thesis' exact table on its own machine: the lower piece up to the size at which both cross, the upper one above it."""
    below, above = (cores * (a / (b * entries + k) + d) for a, b, k, d in PUBLISHED)
    return np.where(entries < _CROSSING, below, above)


_CROSSING = 1.5e5
"""Approximate size at which the published pieces cross; the thesis says "L3 cache filling"."""


def published() -> tuple[Coefficients, Coefficients]:
    """The coefficients of the thesis' exact table, below and above."""
    below, above = (Coefficients(a / b, k / b, d) for a, b, k, d in PUBLISHED)
    return below, above


def coefficients(form: str, parameters: Sequence[float]) -> list[Coefficients]:
    """The coefficients of a fitted curve, one for each piece, if it has one of the forms here; empty for any other form."""
    pieces = {ONE_PIECE.name: [parameters], TWO_PIECES.name: [parameters[1:4], parameters[4:7]]}
    return [_coefficients(*x) for x in pieces.get(form, [])]


def _coefficients(k: float, b: float, d: float) -> Coefficients:
    """The coefficients of t = b + d n/(n + k) ns: 1/t = (n + k)/((b + d) n + b k)."""
    least = 1e3 / (b + d)
    offset = b * k / (b + d)
    return Coefficients(least * (k - offset), offset, least)


def piece(points: Points) -> Floats:
    """The parameters k, b and d of one piece. Raises NoFit."""
    checked(points, "a piece", PIECE)
    high = 100 * points.entries[-1]

    return search_two(
        max(points.entries[0] / 10, 0.1), high, lambda k: points.entries / (points.entries + k), points.ns
    )


def cost(x: Floats, entries: Floats) -> Floats:
    """Cost in ns of a piece k, b, d."""
    ns: Floats = x[1] + x[2] * entries / (entries + x[0])
    return ns


def _one_piece() -> Form:
    def fit(points: Points, world: World) -> Floats:
        checked(points, "one piece", PIECE + 1)
        return piece(points)

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        return cost(x, entries)

    # if its one level lies far beyond the sizes, it is a slope
    return Form("one piece", "1/(A/(n+K)+D)", lambda world: ["k", "b", "d"], fit, at, thesis=True, grows=True)


def _two_pieces() -> Form:
    def fit(points: Points, world: World) -> Floats:
        checked(points, "two pieces", 2 * PIECE)
        best: tuple[float, Floats] | None = None
        for split in range(PIECE, len(points) - PIECE + 1):
            inside = np.arange(len(points)) < split
            left, right = points.where(inside), points.where(~inside)
            x = np.concatenate([[np.sqrt(left.entries[-1] * right.entries[0])], piece(left), piece(right)])
            error = float(np.sum((at(x, points.entries, points.bytes, world) / points.ns - 1) ** 2))
            if best is None or error < best[0]:
                best = error, x
        if best is None:
            raise NoFit("too few sizes on one side of every split")
        return best[1]

    def at(x: Floats, entries: Floats, bytes_: Floats, world: World) -> Floats:
        return np.where(entries < x[0], cost(x[1:4], entries), cost(x[4:7], entries))

    names = ["n at L3", "k", "b", "d", "k above", "b above", "d above"]
    return Form("two pieces", "1/(A/(n+K)+D), twice", lambda world: names, fit, at, thesis=True)


ONE_PIECE, TWO_PIECES = _one_piece(), _two_pieces()
