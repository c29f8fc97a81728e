"""The tables in a plan, resolved to the last key."""

from collections.abc import Iterable
from typing import Any

from windtunnel.engine.plan import Plan

Table = dict[str, Any]


def tables_of(plans: Iterable[Plan]) -> list[list[Table]]:
    """Each workload's tables in the order in which a packet meets them; those of a server and a client in two processes come once."""
    of: dict[int, list[Table]] = {}
    for plan in plans:
        for place, workload in enumerate(plan.workloads):
            tables = workload.pipeline.model_dump()["tables"] if workload.pipeline else []
            of[place] = of.get(place) or tables
    return list(of.values())
