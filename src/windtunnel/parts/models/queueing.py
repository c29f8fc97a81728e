"""Latency percentiles against load, by queueing forms that share one capacity.

polling     L_p = a_p + b_p / (1 - r): a polling loop takes t = f/(1 - r) when each message that came in the meantime adds its own
            time; a message waits for the rest of one loop and for its own, so every percentile is a multiple of t
M/G/1       L_p = a_p + v max(0, ln(r/(1 - p)))/(1 - r): the exponential tail of the waiting time in heavy traffic (Kingman, 1962),
            where one number v says how uneven arrivals and services are
bursts      L_p = a_p + b_p / (1 - r)^2: the variation itself grows with the length of the queue
no queue    L_p = a_p
with r = load/capacity. Percentiles do not add up and are not averaged: each has its own coefficients, and its own error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from windtunnel.parts.models.arrays import Floats, Mask
from windtunnel.parts.models.forms import fit_two
from windtunnel.parts.models.points import NoFit
from windtunnel.stats.profile import profile_interval

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
JUDGED = ("p50", "p90", "p99")
"""The forms are chosen by these. p99.9 is shown only: on a shared machine the host decides it."""
LEAST_LOADS = 5
_GRID = 60
_FULLEST = 0.9995
"""Largest load, as a share of the capacity."""
_EMPTIEST = 0.02


@dataclass(frozen=True)
class Loads:
    """Loads in ascending order and, of each percentile, the latencies at them."""

    load: Floats
    ns: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.load)

    def where(self, chosen: Mask) -> "Loads":
        return Loads(self.load[chosen], {name: ns[chosen] for name, ns in self.ns.items()})

    def without(self, index: int) -> "Loads":
        return self.where(np.arange(len(self)) != index)


@dataclass(frozen=True)
class Queue:
    """A form; `column` is what a percentile's second coefficient stands before, by utilisation and percentile."""

    name: str
    formula: str
    column: Callable[[Floats, float], Floats]
    shared: bool = False
    """Whether all percentiles have the same second coefficient."""


@dataclass(frozen=True)
class Fitted:
    """A form with its numbers."""

    queue: Queue
    capacity: float
    coefficients: dict[str, tuple[float, float]]

    def at(self, load: float, percentile: str) -> float:
        """Latency in ns. It is infinite at the capacity and above."""
        if load >= self.capacity:
            return float("inf")
        a, b = self.coefficients[percentile]
        return float(a + b * self.queue.column(np.array([load / self.capacity]), PERCENTILES[percentile])[0])


def _tail(utilisation: Floats, share: float) -> Floats:
    return np.maximum(np.log(np.maximum(utilisation, 1e-12) / (1 - share)), 0.0) / (1 - utilisation)


QUEUES = (
    Queue("polling", "a + b/(1 - r)", lambda r, p: 1 / (1 - r)),
    Queue("M/G/1", "a + v ln(r/(1 - p))/(1 - r)", _tail, shared=True),
    Queue("bursts", "a + b/(1 - r)^2", lambda r, p: 1 / (1 - r) ** 2),
    Queue("no queue", "a", lambda r, p: np.zeros_like(r)),
)


def fit_queue(queue: Queue, loads: Loads) -> Fitted:
    """The capacity with the least squared relative error of the judged percentiles. Raises NoFit."""
    if len(loads) < LEAST_LOADS - 1:
        raise NoFit(f"{queue.name} needs {LEAST_LOADS - 1} loads, there are {len(loads)}")
    if not all(np.isfinite(ns).all() and (ns > 0).all() for ns in loads.ns.values()):
        raise NoFit("a latency is not a number above 0")
    share = np.linspace(np.log(_EMPTIEST), np.log(_FULLEST), _GRID)
    for _ in range(3):
        capacities = loads.load[-1] / np.exp(share)
        errors, coefficients = _at_capacities(queue, loads, capacities)
        best = int(np.argmin(errors))
        chosen = {name: (float(a[best]), float(b[best])) for name, (a, b) in coefficients.items()}
        share = np.linspace(share[max(best - 1, 0)], share[min(best + 1, _GRID - 1)], _GRID)
    return Fitted(queue, float(capacities[best]), chosen)


def capacity_interval(queue: Queue, loads: Loads) -> tuple[float, float | None]:
    """95% by the profile likelihood: the capacities whose best fit has a squared error that an F test does not distinguish from the least.
    None: those without limit are among them, and nothing bounds the capacity. Raises NoFit."""
    least = fit_queue(queue, loads)
    shares = np.exp(np.linspace(np.log(_EMPTIEST), np.log(_FULLEST), 4000))
    capacities = np.sort(np.append(loads.load[-1] / shares, least.capacity))
    errors, _ = _at_capacities(queue, loads, capacities)
    judged = [name for name in JUDGED if name in loads.ns]
    slopes = 1 if queue.shared else len(judged)
    free = max(len(judged) * len(loads) - len(judged) - slopes - 1, 1)
    return profile_interval(capacities, errors, free)


Pairs = dict[str, tuple[Floats, Floats]]


def _at_capacities(queue: Queue, loads: Loads, capacities: Floats) -> tuple[Floats, Pairs]:
    """For each capacity, the squared relative error of the judged percentiles, and the coefficients of all."""
    utilisation = loads.load[None, :] / capacities[:, None]
    columns = {name: queue.column(utilisation, PERCENTILES[name]) for name in loads.ns}
    if queue.shared:
        return _shared(loads, columns)
    error = np.zeros(len(capacities))
    coefficients: Pairs = {}
    for name, ns in loads.ns.items():
        squared, constants, slopes = fit_two(columns[name], ns)
        coefficients[name] = constants, slopes
        error += squared if name in JUDGED else 0.0
    return error, coefficients


def _shared(loads: Loads, columns: dict[str, Floats]) -> tuple[Floats, Pairs]:
    """One second coefficient for all percentiles, from the judged ones: least squares with the first ones taken out of it."""
    above = below = 0.0
    for name in JUDGED:
        weights, x = 1 / loads.ns[name], columns[name] / loads.ns[name]
        rest = x - (x @ weights)[:, None] / (weights @ weights) * weights
        above, below = above + rest @ (1 - weights.sum() / (weights @ weights) * weights), below + (rest**2).sum(1)
    v = np.maximum(above / np.maximum(below, 1e-30), 0.0)
    error = np.zeros(len(v))
    coefficients: Pairs = {}
    for name, ns in loads.ns.items():
        weights, rest = 1 / ns, 1 - v[:, None] * columns[name] / ns
        a = np.maximum(rest @ weights / (weights @ weights), 0.0)
        coefficients[name] = a, v
        error += ((a[:, None] * weights - rest) ** 2).sum(1) if name in JUDGED else 0.0
    return error, coefficients


@dataclass(frozen=True)
class JudgedQueue:
    """A form on all loads, and its errors with each in turn left out: percentile -> predicted/measured - 1."""

    fitted: Fitted
    errors: dict[str, list[float]]

    @property
    def score(self) -> float:
        return float(np.mean([np.abs(self.errors[name]) for name in JUDGED if name in self.errors]))


@dataclass(frozen=True)
class TriedQueue:
    """A form, and why it does not fit if it could not be judged."""

    queue: Queue
    judged: JudgedQueue | None
    why: str | None


def tried_queues(loads: Loads) -> list[TriedQueue]:
    return [_tried(queue, loads) for queue in QUEUES]


def _tried(queue: Queue, loads: Loads) -> TriedQueue:
    try:
        fitted = fit_queue(queue, loads)
        errors: dict[str, list[float]] = {name: [] for name in loads.ns}
        for i in range(len(loads)):
            without = fit_queue(queue, loads.without(i))
            for name, ns in loads.ns.items():
                errors[name].append(min(without.at(float(loads.load[i]), name) / ns[i] - 1, 10.0))
        return TriedQueue(queue, JudgedQueue(fitted, errors), None)
    except NoFit as no:
        return TriedQueue(queue, None, str(no))


def best_queue(tried: Sequence[TriedQueue]) -> JudgedQueue:
    """The one with the least held-out error of the judged percentiles. Raises NoFit if none fits."""
    judged = [candidate.judged for candidate in tried if candidate.judged]
    if not judged:
        raise NoFit("; ".join(f"{candidate.queue.name}: {candidate.why}" for candidate in tried))
    return min(judged, key=lambda candidate: candidate.score)


def errors_of_the_choice(loads: Loads) -> dict[str, list[float]]:
    """The errors of choosing and fitting with each load in turn left out. Raises NoFit if too few loads are left."""
    errors: dict[str, list[float]] = {name: [] for name in loads.ns}
    for i in range(len(loads)):
        best = best_queue(tried_queues(loads.without(i))).fitted
        for name, ns in loads.ns.items():
            errors[name].append(min(best.at(float(loads.load[i]), name) / ns[i] - 1, 10.0))
    return errors
