"""What match-action tables need of a run (`windtunnel.scenario.part_resources`): memory, and a CPU for the thread that changes them."""

from collections.abc import Collection, Sequence
from typing import Any

from windtunnel.engine.plan_values import Side
from windtunnel.parts.tables.keys import table_keys
from windtunnel.parts.tables.memory import tables_bytes
from windtunnel.parts.tables.pipeline import check_tables, plan_pipeline
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Path


def check(scenario: Scenario, index: int) -> None:
    """Raises Refusal for the first error."""
    check_tables(scenario, index)


def background_keys(scenario: Scenario, index: int) -> list[Path]:
    """Tables that a thread changes."""
    changed = any(table.changes for table in table_keys(scenario.workload[index]))
    return [("workload", index, "table")] if changed else []


def plan_fields(scenario: Scenario, index: int, lcores: Sequence[int], free_cpu: int | None) -> dict[str, Any]:
    """What the plan's workload says of them. Raises Refusal."""
    has_tables = bool(table_keys(scenario.workload[index]))
    return {"pipeline": plan_pipeline(scenario, index, free_cpu) if has_tables else None}


def memory_bytes(scenario: Scenario, side: Side, host: HostView) -> int:
    """Memory of all tables, which the server has. Raises Refusal if the host has no room for them."""
    return tables_bytes(scenario, host) if side == "server" else 0


def notes(scenario: Scenario, workers: Collection[int], reserved: Sequence[int], free_cpu: int | None) -> list[str]:
    """Where the thread runs that changes tables."""
    if not any(background_keys(scenario, index) for index in range(len(scenario.workload))):
        return []
    where = (
        "the workers' CPUs, none of which is free: its cost is part of their results"
        if free_cpu is None
        else f"CPU {free_cpu}, which has no worker"
    )
    return [f"tables are changed by a thread on {where}"]
