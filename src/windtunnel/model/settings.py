"""Tables as a plan has them, resolved to the last key: which of them are alike, and how large they are."""

from typing import Any

from windtunnel.engine.tables import Table

ELSEWHERE = ("name", "where", "rules", "file", "changes_per_s", "seed", "steered", "expected")
"""Keys of a table that do not change what a lookup in it costs, or that are its size."""


def own_settings(table: Table) -> dict[str, Any]:
    """What makes a lookup in this table what it is, its size left out. Where in the packet its key lies does not matter."""
    own = {key: value for key, value in table.items() if key not in ELSEWHERE and value is not None}
    if own.get("popularity") == "uniform":
        own.pop("exponent", None)
    if isinstance(key := own.get("key"), dict):
        own["key"] = [key["bytes"], key["segments"], *(field["bytes"] for field in key["fields"])]
    return own


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Keys in which two tables differ, each with both values."""
    keys = sorted(one.keys() | other.keys())
    return [f"{key} {one.get(key)} against {other.get(key)}" for key in keys if one.get(key) != other.get(key)]
