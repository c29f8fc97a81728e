"""What readers of a run's scenario take for granted."""

from collections.abc import Mapping
from typing import Any, get_args

from windtunnel.engine.plan_values import Side


def check_scenario(scenario: Mapping[str, Any]) -> None:
    """Raises ValueError for a NIC that is no name."""
    if not all(isinstance((scenario.get(side) or {}).get("nic_profile"), str | None) for side in get_args(Side)):
        raise ValueError("nic_profile is no text")
