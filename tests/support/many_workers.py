"""Plans of many workers, each client with a server, as hosts of 16 and 64 CPUs have them. What runs of them show is simulated."""

from pathlib import Path

from scenario_tools import finished, machine

from windtunnel.engine.plan import Plan

MOST_QUEUES = 16
"""Of the wire ring in any engine."""


def plan_of_pairs(directory: Path, count: int) -> Plan:
    """So many servers and clients, on CPUs that are alike. The servers are the workers from 0 to `count` - 1, in the order of their applications."""
    workload = {"handler": "l_app", "apps": count, "dispatchers": min(count, MOST_QUEUES), "inflight": 64 * count}
    return finished(directory, {"workload": [workload]}, host=machine(2 * count + 2, hugepages_mib=8192)).plans[0]
