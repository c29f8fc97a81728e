"""How often do the bands and intervals of a fitted model hold?

No engine runs, nothing is timed: costs of which the law is known are simulated and fitted. docs/measurements/models.md has what came out.
"""

from collections.abc import Iterator

import numpy as np
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.shares import result_of
from harness.statistics import Goal

from windtunnel.parts.models.curve import Options, fit_curve
from windtunnel.parts.models.heldout import FORMS
from windtunnel.parts.models.observe import ObservedRun, Series
from windtunnel.parts.models.points import World
from windtunnel.parts.models.predict import band, curve_samples

LAWS = {"one piece": np.array([4e4, 50, 200]), "power": np.array([0.3, 5, 3])}
"""Form of a table's cost -> its parameters: 50 to 240 ns, and 17 to 194 ns."""
CURVES = 20
"""Fitted curves of each kind: one takes a second."""


def measure(session: Session) -> Iterator[Result]:
    held = {f"{sizes} sizes, {noise:.0%} noise": _holds(sizes, noise) for sizes in (8, 11) for noise in (0.02, 0.05)}
    for n, what in enumerate(("the band holds the true cost", "the band holds what 3 runs measure", "intervals hold")):
        shares = {kind: each[n] for kind, each in held.items()}
        yield result_of(session, f"model: {what}", shares, Goal(0.9, "at least", least_samples=1))


def _holds(sizes: int, noise: float) -> tuple[float, float, float]:
    """Between the sizes that were run: how often the band holds the true cost, and the median of three runs; and how often the intervals of
    parameters hold, where the form that is chosen is the true one."""
    random, entries = np.random.default_rng(sizes), np.geomspace(100, 1e6, sizes).round()
    between = np.sqrt(entries[1:] * entries[:-1])
    true, measured, parameters = [], [], []
    for form in [form for form in FORMS if form.name in LAWS] * (CURVES // len(LAWS)):
        law = LAWS[form.name]
        costs, wanted = (form.at(law, places, 64 * places, World()) for places in (entries, between))
        runs = [
            ObservedRun(point, float(n), 1, float(ns * np.exp(noise * random.standard_normal())), None, None)
            for point, (n, ns) in enumerate(zip(entries, costs, strict=True))
            for _ in range(3)
        ]
        curve = fit_curve(Series({}, tuple(runs)), "", World(), Options())
        for n, ns in zip(between, wanted, strict=True):
            low, high = band(curve_samples(curve, float(n), World(), np.random.default_rng(1)))
            true.append(low <= ns <= high)
            measured.append(low <= np.median(ns * np.exp(noise * random.standard_normal(3))) <= high)
        if curve.form == form.name:
            found = zip(curve.parameters, law, strict=True)
            parameters += [one.low is not None and one.low <= value <= (one.high or 0) for one, value in found]
    return float(np.mean(true)), float(np.mean(measured)), float(np.mean(parameters))


if __name__ == "__main__":
    main(__doc__, measure)
