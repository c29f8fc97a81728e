"""The policies by name."""

from collections.abc import Callable

import numpy as np

from windtunnel.api.errors import UserError
from windtunnel_sharing.simulate.plan import Plan
from windtunnel_sharing.simulate.policies.credit import credit
from windtunnel_sharing.simulate.policies.credit2 import credit2
from windtunnel_sharing.simulate.policies.eevdf import Eevdf
from windtunnel_sharing.simulate.policies.kicker import kicker, kicker_default_slice
from windtunnel_sharing.simulate.policies.pools import kicker_pools, pvcc
from windtunnel_sharing.simulate.policies.rotor import Rotor
from windtunnel_sharing.simulate.policy import AnyPolicy


def _plain(kind: type[AnyPolicy]) -> Callable[[Plan, np.random.Generator], AnyPolicy]:
    return lambda plan, rng: kind(plan.machine, plan.slice_ns, range(plan.machine.cores), rng)


POLICIES: dict[str, tuple[str, Callable[[Plan, np.random.Generator], AnyPolicy]]] = {
    "credit": ("Xen's Credit: the slice is also its accounting period (30 ms there)", credit),
    "credit2": ("Xen's Credit2: turns of 0.5 to 10 ms by credits, whatever the slice, without a rate limit", credit2),
    "pvcc": ("Credit with microsecond slices and rate limit 0 for `ls`, 30 ms for `be`, cores by weight", pvcc),
    "tick": ("EEVDF with its own slice, enforced at the tick", _plain(Eevdf)),
    "kicker": ("EEVDF that picks again at every kick, custom slices", kicker),
    "kicker-default-slice": ("the same with EEVDF's own slice", kicker_default_slice),
    "kicker-pools": ("kicker for `ls`, tick for `be`, cores by weight", kicker_pools),
    "rotor": ("weighted turns, one after the other: FIFO priorities swapped by a timer", _plain(Rotor)),
}
"""Name -> description, and factory."""


def make(plan: Plan, rng: np.random.Generator) -> AnyPolicy:
    """Raises UserError for an unknown name."""
    if plan.policy not in POLICIES:
        raise UserError(f"there is no policy {plan.policy!r}", remedy=f"one of {', '.join(POLICIES)}")
    return POLICIES[plan.policy][1](plan, rng)
