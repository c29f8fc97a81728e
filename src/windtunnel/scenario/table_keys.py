"""The keys of `[[workload.table]]`: one match-action table of the packet handler `match_action` (docs/reference/tables.md)."""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from windtunnel.engine.plan_values import (
    Access,
    Action,
    ChangesPerSecond,
    Entry,
    Exponent,
    Lookup,
    Masks,
    Method,
    Popularity,
    Prefixes,
    Probability,
    TableKind,
    TableLoad,
    Where,
)
from windtunnel.scenario.quantities import BitRate, Quantity, Size, within
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Text, Wanted

FIELDS: dict[str, tuple[Literal["l3", "l4"], int, Literal[1, 2, 4]]] = {
    "ipv4.src": ("l3", 12, 4),
    "ipv4.dst": ("l3", 16, 4),
    "ipv4.proto": ("l3", 9, 1),
    "ipv4.dscp": ("l3", 1, 1),
    "udp.src": ("l4", 0, 2),
    "udp.dst": ("l4", 2, 2),
}
"""Field -> where it is, its offset there, its bytes. The ports are TCP's as well; dscp is the whole byte, ECN included."""
SEGMENTS: dict[str, Literal[4, 8, 16]] = {"4x4": 4, "2x8": 8, "1x16": 16}
"""Key of 16 bytes of the body -> bytes that are moved at once."""
BODY_KEYS = (*SEGMENTS, "1x4")

Entries = Annotated[int, Quantity("count", "1", "10M")]
Changes = Annotated[int, within("count", ChangesPerSecond)]


def _key(value: Any) -> Any:
    if isinstance(value, str):
        if value not in BODY_KEYS:
            raise ValueError(f'"{value}" is no key: one of {", ".join(BODY_KEYS)}, or a list of fields')
    elif isinstance(value, list) and value:
        if bad := next((field for field in value if field not in FIELDS), None):
            raise ValueError(f'"{bad}" is no field: one of {", ".join(FIELDS)}')
        if len(set(value)) < len(value):
            raise ValueError("names a field twice")
    else:
        raise ValueError(f"neither one of {', '.join(BODY_KEYS)} nor a list of fields")
    return value


KeyOf = Annotated[
    str | list[str],
    PlainValidator(_key),
    Wanted(f"one of {', '.join(BODY_KEYS)} in quotes, or a list of {', '.join(FIELDS)}"),
    WithJsonSchema(
        {"anyOf": [{"enum": list(BODY_KEYS)}, {"type": "array", "items": {"enum": list(FIELDS)}, "minItems": 1}]}
    ),
]


class Meter(Table):
    """Rates of `action = "meter"`, of each entry (two rates, three colours, RFC 2698): red packets are dropped."""

    committed: BitRate = Field("1Gbps", validate_default=True, description="up to this green")
    peak: BitRate = Field("2Gbps", validate_default=True, description="up to this yellow; what is above it is red")
    burst: Annotated[int, Size("64B", "1GiB")] = Field("64KiB", validate_default=True, description="of both buckets")


class MatchTable(Table):
    """One match-action table of the packet handler `match_action`; packets meet them in this order."""

    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]{1,32}$", description="in steps and metrics; without: its kind and number"
    )
    where: Where = Field("ingress", description="egress tables come after all of ingress")
    kind: TableKind = Field("exact", description="what a rule is: a key, a prefix, key and mask")
    method: Method | None = Field(
        None,
        description="exact: hash (rte_hash); lpm: fib (rte_fib, the default) or lpm (rte_lpm); ternary: acl (rte_acl, the "
        "default), linear (one rule after the other) or tss (tuple-space search)",
    )
    key: KeyOf | None = Field(
        None,
        description='bytes of the body, moved in segments: "4x4", "2x8", "1x16" (16 bytes), "1x4" (4); or header fields, as in '
        '["ipv4.src", "udp.dst"]; without: "4x4", of an lpm table "1x4"',
    )
    entries: Entries | None = Field(None, description="rules, made from the seed; without rules from a file: 1000")
    rules: Text | None = Field(
        None, min_length=1, description="file of rules instead: CSV of prefixes, or a ClassBench filter set"
    )
    prefixes: Prefixes = Field("24", description="lpm: lengths of made prefixes; mixed: 16 to 28 bits")
    masks: Masks = Field(16, description="ternary: how many different masks made rules have; 1, or an even number")
    load: TableLoad = Field(
        0.5, description="hash tables: share of the places in use, at most; places are a power of two"
    )
    hit: Probability = Field(1.0, description="share of the packets whose key has a rule")
    keys: Popularity = Field("uniform", description="which rules packets hit")
    exponent: Exponent = Field(0.99, description="of zipf")
    lookup: Lookup = Field(
        "bulk", description="a burst at once, its misses overlapping; or each key as soon as it is made"
    )
    entry: Entry = Field(
        "inline", description="what a key leads to: a value in the table, or in an entry behind a pointer"
    )
    tables: Literal["shared", "per_core"] = Field("shared", description="one table for all dispatchers, or one each")
    access: Access = Field(
        "pointer", description="a pointer that stays, or one that is read anew each burst (read-copy-update)"
    )
    action: Action = Field(
        "forward", description="of a hit: nothing; MAC, TTL and checksum; counters; meters of an entry; the end"
    )
    meter: Meter | None = Field(None, description='rates of action = "meter"')
    miss: Literal["forward", "drop"] = Field("forward", description="what becomes of a packet without a rule")
    changes: Changes = Field(0, description='entries changed a second while packets flow; needs access = "rcu"')
