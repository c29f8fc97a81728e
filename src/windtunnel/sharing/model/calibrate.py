"""The simulator's costs of this host, from trials: the cost of a switch, the loss within a turn, the lateness of kicks, and the steal of
the host."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from windtunnel.errors import UserError
from windtunnel.runs.histogram import merge, spread
from windtunnel.sharing.model.form import Capacity, fit_capacity
from windtunnel.sharing.model.live import Measured
from windtunnel.sharing.simulate import Machine, Noise
from windtunnel.sharing.simulate.plan import SECOND

LEAST_GAP_NS = 10_000
"""Shorter gaps of a tenant alone come from the clock."""


def calibrate(finished: Sequence[Measured], usual: Machine) -> tuple[Machine, Capacity]:
    """`finished`: overloaded trials of several tenants with short and long slices, and some of one. Raises UserError where they do not
    suffice."""
    capacity = fit_capacity([one.point for one in finished], usual)
    shared = [
        (1 - own) * one.point.slice_ns
        for one in finished
        if one.point.tenants > 1 and (own := one.trial.slicer.own_share) is not None
    ]
    if capacity is None or not shared:
        raise UserError("the trials do not show the cost of a slice", remedy="overloaded trials of several tenants")
    away = median(shared)
    away = min(away, capacity.slice_ns)
    of_kick = usual.kick_ns / (usual.kick_ns + usual.switch_ns)
    late = merge(
        one.trial.slicer.late for one in finished if one.point.tenants > 1 and one.trial.slicer.own_share is not None
    )
    mean, deviation = (late and spread(late)) or (usual.late_ns, usual.late_sd_ns)
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


def noise(alone: Sequence[Measured]) -> Noise:
    """The time that a tenant alone did not get, as random steal; medians of the trials, because one may have had a neighbour."""
    rates, lengths = [], []
    for one in (tenant for trial in alone for tenant in trial.trial.tenants):
        long = [(at, count) for at, count in one.gap.counts if at >= LEAST_GAP_NS]
        count = sum(n for _, n in long)
        rates.append(count * SECOND / (one.end_ns - one.begin_ns))
        lengths += [sum(at * n for at, n in long) / count] if count else []
    return Noise(median(rates), int(median(lengths))) if lengths and median(rates) else Noise()
