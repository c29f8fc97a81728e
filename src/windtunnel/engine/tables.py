"""The tables in a plan, resolved to the last key."""

import json
from collections.abc import Iterable
from typing import Any

from windtunnel.engine.plan import Plan

OPTION = "pipeline"
"""Of a packet handler: its tables, as JSON."""

Table = dict[str, Any]


def tables_of(plans: Iterable[Plan]) -> list[list[Table]]:
    """Of each workload, in the order in which a packet meets them; of a server and a client in two processes once."""
    of: dict[int, list[Table]] = {}
    for plan in plans:
        for place, workload in enumerate(plan.workloads):
            handler = workload.packet_handler
            tables = json.loads(handler.options[OPTION])["tables"] if handler and OPTION in handler.options else []
            of[place] = of.get(place) or tables
    return list(of.values())
