"""The keys of `[[workload.table]]`: one match-action table of the packet handler `match_action` (docs/reference/tables.md)."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, cast

from pydantic import Field, PlainValidator, WithJsonSchema

from windtunnel.engine.plan_values import Exponent, Probability
from windtunnel.parts.tables.plan import (
    MAX_TABLES,
    Access,
    Action,
    ChangesPerSecond,
    Entry,
    Lookup,
    Masks,
    Method,
    Popularity,
    Prefixes,
    TableKind,
    TableLoad,
    Where,
)
from windtunnel.scenario.quantities import BitRate, Quantity, Size, within
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Text, Wanted

FIELDS: dict[str, tuple[Literal["l3", "l4"], int, Literal[1, 2, 4, 16]]] = {
    "ipv4.src": ("l3", 12, 4),
    "ipv4.dst": ("l3", 16, 4),
    "ipv4.proto": ("l3", 9, 1),
    "ipv4.dscp": ("l3", 1, 1),
    "ipv6.src": ("l3", 8, 16),
    "ipv6.dst": ("l3", 24, 16),
    "ipv6.next_header": ("l3", 6, 1),
    "ipv6.hop_limit": ("l3", 7, 1),
    "udp.src": ("l4", 0, 2),
    "udp.dst": ("l4", 2, 2),
}
"""Field -> where it is, its offset there, its bytes. The ports are TCP's as well; dscp is the whole byte, ECN included."""
SEGMENTS: dict[str, Literal[4, 8, 16]] = {"4x4": 4, "2x8": 8, "1x16": 16}
"""Key of 16 bytes of the body -> bytes that are moved at once."""
BODY_KEYS = (*SEGMENTS, "1x4")

Entries = Annotated[int, Quantity("count", "1", "10M")]
Changes = Annotated[int, within("count", ChangesPerSecond)]


def versions_of(fields: Iterable[str]) -> set[str]:
    """IP versions of which these fields are; the ports are of both."""
    return {field.partition(".")[0] for field in fields} & {"ipv4", "ipv6"}


def _key(value: Any) -> Any:
    if isinstance(value, str):
        if value not in BODY_KEYS:
            raise ValueError(f'"{value}" is not a key: one of {", ".join(BODY_KEYS)}, or a list of fields')
    elif isinstance(value, list) and value:
        if bad := next((field for field in value if field not in FIELDS), None):
            raise ValueError(f'"{bad}" is not a field: one of {", ".join(FIELDS)}')
        if len(set(value)) < len(value):
            raise ValueError("names a field twice")
        if len(versions_of(value)) > 1:
            raise ValueError("names fields of IPv4 and of IPv6: a packet has one of them")
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
    """Rates of each entry's meter for `action = "meter"` (two rates, three colours, RFC 2698): red packets are dropped."""

    committed: BitRate = Field("1Gbps", validate_default=True, description="up to this rate packets are green")
    peak: BitRate = Field(
        "2Gbps", validate_default=True, description="above committed and up to peak: yellow; above peak: red"
    )
    burst: Annotated[int, Size("64B", "1GiB")] = Field(
        "64KiB", validate_default=True, description="size of both token buckets"
    )


class MatchTable(Table):
    """One match-action table of the packet handler `match_action`; packets pass the tables in this order."""

    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]{1,32}$", description="name in steps and metrics; default: its kind and number"
    )
    where: Where = Field("ingress", description="egress tables follow all ingress tables")
    kind: TableKind = Field("exact", description="kind of rules: exact keys, prefixes, or keys with masks")
    method: Method | None = Field(
        None,
        description="exact: hash (rte_hash); lpm: fib (rte_fib, the default) or lpm (rte_lpm), for IPv6 only lpm (rte_lpm6); "
        "ternary: acl (rte_acl, the default), linear (one rule after the other) or tss (tuple-space search)",
    )
    key: KeyOf | None = Field(
        None,
        description='bytes of the body, moved in segments: "4x4", "2x8", "1x16" (16 bytes), "1x4" (4); or header fields, as in '
        '["ipv4.src", "udp.dst"]; default: "4x4", for lpm "1x4"; an lpm key of 16 bytes is an IPv6 address',
    )
    entries: Entries | None = Field(None, description="number of generated rules; 1000 without a rule file")
    rules: Text | None = Field(
        None, min_length=1, description="rule file, instead of entries: CSV of prefixes, or a ClassBench filter set"
    )
    prefixes: Prefixes | None = Field(
        None,
        description='lpm: lengths of generated prefixes; default: "24", for IPv6 "48"; mixed: 16 to 28 bits, for IPv6 40 to 52',
    )
    masks: Masks = Field(16, description="ternary: number of different masks of generated rules; 1, or an even number")
    load: TableLoad = Field(0.5, description="hash tables: highest load factor; the number of slots is a power of two")
    hit: Probability = Field(1.0, description="share of the packets whose key has a rule")
    keys: Popularity = Field("uniform", description="distribution of hits over the rules")
    exponent: Exponent = Field(0.99, description="zipf: the exponent")
    lookup: Lookup = Field(
        "bulk", description="look up a whole burst at once, so that cache misses overlap; or each key on its own"
    )
    entry: Entry = Field("inline", description="inline: data is in the table; pointed: in an entry behind a pointer")
    tables: Literal["shared", "per_core"] = Field(
        "shared", description="one table for all dispatchers, or one for each"
    )
    access: Access = Field(
        "pointer",
        description="pointer: the table never changes; rcu: its pointer is read once per burst (read-copy-update)",
    )
    action: Action = Field(
        "forward", description="action on a hit; rewrite changes MAC, TTL and checksum, count and meter use the entry"
    )
    meter: Meter | None = Field(None, description='rates of action = "meter"')
    miss: Literal["forward", "drop"] = Field("forward", description="action on a miss")
    changes: Changes = Field(0, description='entries that change per second during the run; needs access = "rcu"')


WORKLOAD: dict[str, Any] = {
    "table": (
        list[MatchTable],
        Field(
            default_factory=list,
            max_length=MAX_TABLES,
            description="tables of the packet handler match_action, in order",
        ),
    )
}


def table_keys(workload: Table) -> list[MatchTable]:
    """The tables of a scenario's workload."""
    return cast(list[MatchTable], cast(Any, workload).table)
