"""Memory of tables: the engine computes it, because it depends on its DPDK."""

from functools import cache
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.parts.tables.keys import table_keys
from windtunnel.parts.tables.pipeline import plan_pipeline, rules_of
from windtunnel.parts.tables.plan import Pipeline
from windtunnel.parts.tables.query import table_needs
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Refusal

MOST_OF_MEMORY = 3 / 4
"""Most of the free memory that tables may take: the same as for everything else that an engine wants."""


def tables_bytes(scenario: Scenario, host: HostView) -> int:
    """Bytes of all tables of a scenario, copies of each core included; 0 if there is no engine to ask.

    Raises Refusal for tables that the machine has no room for, named by the largest.
    """
    wanted: dict[tuple[int, int], int] = {}
    for index, workload in enumerate(scenario.workload):
        if not table_keys(workload):
            continue
        needs = _asked(_sized(scenario, index))
        for place, (table, need) in enumerate(zip(table_keys(workload), needs, strict=True)):
            wanted[index, place] = need * (workload.dispatchers if table.tables == "per_core" else 1)
    total = sum(wanted.values())
    if host.memory_bytes is not None and total > host.memory_bytes * MOST_OF_MEMORY:
        index, place = max(wanted, key=wanted.__getitem__)
        table = table_keys(scenario.workload[index])[place]
        raise Refusal(
            ("workload", index, "table", place, "rules" if table.rules else "entries"),
            f"the tables want {total >> 20:,} MiB, the machine has {host.memory_bytes >> 20:,} MiB",
            "fewer entries" + (', or tables = "shared"' if table.tables == "per_core" else ""),
        )
    return total


def _sized(scenario: Scenario, index: int) -> Pipeline:
    """The pipeline with the number of rules in the place of their file."""
    planned = plan_pipeline(scenario, index, None, keep=False)
    tables = [
        planned_table.model_copy(update={"rules": rules_of(scenario, table), "file": None})
        if table.rules
        else planned_table
        for table, planned_table in zip(table_keys(scenario.workload[index]), planned.tables, strict=True)
    ]
    return planned.model_copy(update={"tables": tables})


def _asked(pipeline: Pipeline) -> list[int]:
    try:
        engine = find_engine()
    except UserError:
        return [0] * len(pipeline.tables)
    return _needs(engine, pipeline.model_dump_json())


@cache
def _needs(engine: Path, pipeline: str) -> list[int]:
    """Bytes of a pipeline, asked once, because that takes a process: many points of a study have the same tables."""
    return table_needs(engine, pipeline)
