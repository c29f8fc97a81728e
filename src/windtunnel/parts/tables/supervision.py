"""How long the supervisor waits for a run with tables."""

from windtunnel.engine.plan import Plan
from windtunnel.parts.tables.planned_tables import tables_of

BUILD_S_A_RULE = 5e-4
"""Rules of rte_acl are compiled in one call, without a line: 30 to 70 s a million were seen, and live tables are built twice."""


def silence_s(plan: Plan) -> float:
    """Seconds before the run in which the engine may say nothing, because it builds tables."""
    rules = [table["rules"] or 0 for tables in tables_of([plan]) for table in tables if table["method"] == "acl"]
    return BUILD_S_A_RULE * sum(rules)
