"""Workers that do the same: replicas are one group in tables, diagnosis and reports."""

from collections import Counter
from collections.abc import Hashable

from windtunnel.engine.plan import Plan, StageOf

LEAST_GROUP = 4
"""Fewer replicas are shown one by one."""


def replicas(plan: Plan) -> list[list[int]]:
    """Positions of the plan's workers, by groups: those of a group have as many stages of each kind, of the same endpoint and workload. A worker
    like no other is a group of one. Groups are in the order of their first workers."""
    groups: dict[Hashable, list[int]] = {}
    for position, worker in enumerate(plan.workers):
        kinds = Counter((stage.endpoint, stage.stage, _workload(plan, stage)) for stage in worker.stages)
        groups.setdefault(frozenset(kinds.items()), []).append(position)
    return list(groups.values())


def replicas_of(plan: Plan, worker: int) -> list[int]:
    """The worker's group, itself included."""
    return next(group for group in replicas(plan) if worker in group)


def _workload(plan: Plan, stage: StageOf) -> int:
    endpoint = plan.endpoints[stage.endpoint]
    if stage.stage.startswith("app_"):
        return endpoint.applications[stage.index].workload
    return endpoint.dispatchers[stage.index].workload
