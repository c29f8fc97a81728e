"""The tables in a plan, resolved to the last key."""

from collections.abc import Iterable
from typing import Any

from windtunnel.engine.plan import Plan
from windtunnel.parts.tables.plan import pipeline_of

Table = dict[str, Any]


def tables_of(plans: Iterable[Plan]) -> list[list[Table]]:
    """Each workload's tables in the order in which a packet meets them; those of a server and a client in two processes come once."""
    of: dict[int, list[Table]] = {}
    for plan in plans:
        for place, workload in enumerate(plan.workloads):
            pipeline = pipeline_of(workload)
            tables = pipeline.model_dump()["tables"] if pipeline else []
            of[place] = of.get(place) or tables
    return list(of.values())
