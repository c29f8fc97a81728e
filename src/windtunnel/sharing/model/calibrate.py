"""The simulator's costs of this host, from trials of their own: what a turn takes beside its tenant, what is lost within it, how late kicks are,
and what the host takes by itself."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from windtunnel.engine.lines import Histogram
from windtunnel.errors import UserError
from windtunnel.runs.histogram import merge, percentile
from windtunnel.sharing.model.form import Capacity, fit_capacity
from windtunnel.sharing.model.live import Measured
from windtunnel.sharing.simulate import Machine, Noise
from windtunnel.sharing.simulate.plan import SECOND

LEAST_GAP_NS = 10_000
"""Of a tenant alone: shorter ones are the clock's."""


def calibrate(finished: Sequence[Measured], usual: Machine) -> tuple[Machine, Capacity]:
    """`run`: overloaded trials of several tenants with short and long slices, and some of one. Raises UserError where they do not tell."""
    capacity = fit_capacity([one.point for one in finished], usual)
    shared = [one for one in finished if one.point.tenants > 1 and one.trial.slicer.own_share is not None]
    if capacity is None or not shared:
        raise UserError("the trials do not tell what a slice costs", remedy="overloaded ones, of several tenants")
    away = median((1 - one.trial.slicer.own_share) * one.point.slice_ns for one in shared)
    away = min(away, capacity.slice_ns)
    of_kick = usual.kick_ns / (usual.kick_ns + usual.switch_ns)
    late = merge(one.trial.slicer.late for one in shared)
    mean, deviation = middle(late) if late and late.total else (usual.late_ns, usual.late_sd_ns)
    machine = replace(
        usual,
        kick_ns=int(away * of_kick),
        switch_ns=int(away * (1 - of_kick)),
        cold_ns=int(capacity.slice_ns - away),
        late_ns=int(mean),
        late_sd_ns=int(deviation),
        noise=noise([one for one in finished if one.point.tenants == 1]),
    )
    return machine, capacity


def middle(histogram: Histogram) -> tuple[float, float]:
    """Median, and half of the way from the 16th to the 84th percentile: a normal distribution's deviation, which no stray sample moves."""
    low, median_, high = (percentile(histogram, percent) for percent in (16, 50, 84))
    return float(median_), (high - low) / 2


def noise(alone: Sequence[Measured]) -> Noise:
    """What a tenant alone did not get, as if it came at random; medians of the trials, because a neighbour in one of them is not this host."""
    rates, lengths = [], []
    for one in (tenant for trial in alone for tenant in trial.trial.tenants):
        long = [(at, count) for at, count in one.gap.counts if at >= LEAST_GAP_NS]
        count = sum(n for _, n in long)
        rates.append(count * SECOND / (one.end_ns - one.begin_ns))
        lengths += [sum(at * n for at, n in long) / count] if count else []
    return Noise(median(rates), int(median(lengths))) if lengths and median(rates) else Noise()
