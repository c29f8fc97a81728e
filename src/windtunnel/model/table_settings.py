"""Tables as a plan has them, resolved to the last key: which of them are alike, and how large they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np

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


PLACES, LINE = 8, 64
"""Keys of a bucket of rte_hash, and its bytes (lib/hash/rte_cuckoo_hash.h)."""
DATA, ALIGNED = 8, 16
"""Bytes that stand beside a key of rte_hash, and to what both are rounded up."""
OF_FIXED_DEPTH = ("exact", "lpm")
"""Kinds whose lookups touch as many lines in a large table as in a small one."""


def is_of_fixed_depth(table: Mapping[str, Any]) -> bool:
    """Whether a lookup costs at most so many loads, each of them at most what the furthest memory costs: then no form that rises for
    ever is one of this table's. Tuple-space search has its tuples by the masks, not by the entries."""
    return table.get("kind") in OF_FIXED_DEPTH or table.get("method") == "tss"


def touched(table: Mapping[str, Any], entries: np.ndarray) -> list[np.ndarray] | None:
    """Bytes of each part of which a lookup loads one line, at so many entries: of a hash its buckets, the keys in it, and the entries
    that they point to. None where that is not known: `table` is as `own_settings` has it."""
    if table.get("kind") != "exact" or "load" not in table or not table.get("key"):
        return None
    places = 2.0 ** np.ceil(np.log2(np.maximum(entries / table["load"], PLACES)))
    slot = -(-(table["key"][0] + DATA) // ALIGNED) * ALIGNED
    parts = [places / PLACES * LINE, slot * entries]
    return [*parts, LINE * entries] if table.get("entry") == "pointed" else parts
