"""How long the supervisor waits for a run with copies."""

from windtunnel.engine.plan import Plan
from windtunnel.parts.copies.plan import copies_of

MODELLED_SLOWER = 100
"""An engine may be modelled as so many times as fast as the CPU."""


def slower(plan: Plan) -> int:
    """Times as long as without: the run's time stands still while the CPU moves the bytes of a modelled engine."""
    modelled = any(copies.model for workload in plan.workloads if (copies := copies_of(workload)))
    return MODELLED_SLOWER if modelled else 1
