"""Tables of a plan with every key resolved: which tables are alike, and how large they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from windtunnel.parts.models.arrays import Floats
from windtunnel.parts.tables.planned_tables import Table

NOT_COMPARED = ("name", "where", "rules", "file", "changes_per_s", "seed", "steered", "expected")
"""Keys of a table that do not change the cost of a lookup, and its size."""


def own_settings(table: Table) -> dict[str, Any]:
    """The keys that decide the cost of a lookup, without the size. The offset of the key in the packet does not matter."""
    own = {key: value for key, value in table.items() if key not in NOT_COMPARED and value is not None}
    if own.get("popularity") == "uniform":
        own.pop("exponent", None)
    if isinstance(key := own.get("key"), dict):
        own["key"] = [key["bytes"], key["segments"], *(field["bytes"] for field in key["fields"])]
    return own


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Keys in which two tables differ, each with both values."""
    keys = sorted(first.keys() | second.keys())
    return [f"{key} {first.get(key)} against {second.get(key)}" for key in keys if first.get(key) != second.get(key)]


PLACES, LINE = 8, 64
"""Keys of a bucket of rte_hash, and its bytes (lib/hash/rte_cuckoo_hash.h)."""
DATA, ALIGNED = 8, 16
"""Bytes of data beside a key of rte_hash, and the multiple to which both are rounded up."""
OF_FIXED_DEPTH = ("exact", "lpm")
"""Kinds whose lookups touch as many lines in a large table as in a small one."""


def is_of_fixed_depth(table: Mapping[str, Any]) -> bool:
    """Whether the loads of a lookup have a limit. No form that grows without limit fits such a table. The tuples of tuple-space search
    depend on the masks, not on the entries."""
    return table.get("kind") in OF_FIXED_DEPTH or table.get("method") == "tss"


def touched(table: Mapping[str, Any], entries: Floats) -> list[Floats] | None:
    """Bytes of each part of the table of which a lookup loads one line: of a hash its buckets, its keys, and the entries that they
    point to. None if that is not known. `table`: from `own_settings`."""
    if table.get("kind") != "exact" or "load" not in table or not table.get("key"):
        return None
    places = 2.0 ** np.ceil(np.log2(np.maximum(entries / table["load"], PLACES)))
    slot = -(-(table["key"][0] + DATA) // ALIGNED) * ALIGNED
    parts = [places / PLACES * LINE, slot * entries]
    return [*parts, LINE * entries] if table.get("entry") == "pointed" else parts
