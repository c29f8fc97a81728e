"""What of copies is not real."""

from collections.abc import Iterable

from windtunnel.engine.plan import Plan
from windtunnel.parts.copies.plan import copies_of


def labels(plans: Iterable[Plan]) -> list[str]:
    """One label for each engine whose copies are modelled; empty if bytes are moved in earnest."""
    models = [copies.model for plan in plans for workload in plan.workloads if (copies := copies_of(workload))]
    names = dict.fromkeys(model.name for model in models if model)
    return [f"modelled: copies, and every figure that follows from them, by {name} as data" for name in names]
