"""What tests of the spine ask for of tables."""

from typing import Any

from net import STUDY

KEPT_RUN = "tables-three"
KEPT_VIEWS = {"study-tables": STUDY}
LATER_KEYS = {("pipeline", "ipv6")}
OPENED_FILES = [("tables-ternary.toml", "filters.classbench")]


def prepare_workload(workload: dict[str, Any]) -> None:
    """Tables have a handler of their own."""
    workload["packet_handler"] = {"name": "match_action", "options": {}}
