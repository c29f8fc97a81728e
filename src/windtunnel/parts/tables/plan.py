"""What the plan says of match-action tables: the pipeline of the packet handler `match_action`."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field

from windtunnel.engine.plan_values import U64, Cpu, Exponent, Part, Probability, Text, cpp

MAX_TABLES = 8
"""Most tables of a pipeline."""
MAX_RULES = 1 << 24
"""Most rules of a table."""
MAX_KEY_FIELDS = 8
MAX_KEY_BYTES = 64
INNER_HEADERS_BYTES = 28
"""IPv4 and UDP in a request's body."""
INNER_IPV6_HEADERS_BYTES = 48
"""IPv6 and UDP there."""
CONSTANTS = {
    "MAX_TABLES": MAX_TABLES,
    "MAX_RULES": MAX_RULES,
    "MAX_KEY_FIELDS": MAX_KEY_FIELDS,
    "MAX_KEY_BYTES": MAX_KEY_BYTES,
    "INNER_HEADERS_BYTES": INNER_HEADERS_BYTES,
    "INNER_IPV6_HEADERS_BYTES": INNER_IPV6_HEADERS_BYTES,
}
"""What C and C++ get by name."""

Where = Literal["ingress", "egress"]
TableKind = Literal["exact", "lpm", "ternary"]
Method = Literal["hash", "fib", "lpm", "acl", "linear", "tss"]
Prefixes = Literal["24", "48", "mixed"]
Lookup = Literal["bulk", "single"]
Access = Literal["pointer", "rcu"]
Entry = Literal["inline", "pointed"]
Action = Literal["forward", "rewrite", "count", "meter", "drop"]
Popularity = Literal["uniform", "zipf"]
Masks = Annotated[int, Field(ge=1, le=256)]
TableLoad = Annotated[float, Field(gt=0, le=1)]
ChangesPerSecond = Annotated[int, Field(ge=0, le=100_000_000)]

Offset = Annotated[int, Field(ge=0, le=2048)]
BytesPerSecond = Annotated[int, Field(ge=1, le=U64)]


class KeyField(Part):
    """Bytes of a packet that are a part of a key; one store moves them."""

    place: Annotated[Literal["l3", "l4", "body"], cpp("key_place")]
    offset: Offset = Field(description="from the IP header, the UDP header or the body")
    bytes: Literal[1, 2, 4, 8, 16]


class Key(Part):
    fields: list[KeyField] = Field(min_length=1, max_length=MAX_KEY_FIELDS)
    bytes: Annotated[int, Field(ge=4, le=MAX_KEY_BYTES, multiple_of=4)] = Field(
        description="what the fields leave is 0"
    )
    segments: Literal[0, 4, 8, 16] = Field(
        description="bytes of each field if 16 bytes of the body are the key; else 0"
    )


class Meter(Part):
    """Two rates, three colours (RFC 2698)."""

    committed_bytes_per_s: BytesPerSecond
    peak_bytes_per_s: BytesPerSecond
    burst_bytes: BytesPerSecond


class Table(Part):
    """One match-action table."""

    name: Text
    where: Where
    kind: TableKind
    method: Method
    key: Key
    rules: Annotated[int, Field(ge=0, le=MAX_RULES)] = Field(description="to generate; 0: they stand in `file`")
    file: Text | None = Field(description="absolute path of a text that the engine reads rules from")
    prefixes: Prefixes = Field(description="lpm: lengths of generated prefixes")
    masks: Masks = Field(description="ternary: different masks of generated rules")
    load: TableLoad = Field(description="hash tables: share of the places in use, at most")
    lookup: Lookup
    access: Access
    entry: Entry
    per_core: bool
    action: Action
    meter: Meter | None
    miss_drops: bool
    changes_per_s: ChangesPerSecond
    seed: Annotated[int, Field(ge=0, le=U64)]
    steered: bool = Field(
        description="the side that makes the traffic draws the key, and the packet has the expected result"
    )
    hit: Probability
    popularity: Annotated[Popularity, cpp("popularity")]
    exponent: Exponent
    expected: Offset = Field(description="offset in the body of what the packet says of its key")


class Pipeline(Part):
    """Tables, in the order in which a packet meets them."""

    traffic: Annotated[Literal["none", "frames", "requests"], cpp("traffic")] = Field(
        description="who writes keys: none, the handler into empty frames, the client into its requests"
    )
    body_offset: Offset = Field(description="of the body from the UDP payload")
    body_bytes: Offset = Field(description="that a packet must have there")
    inner: bool = Field(description="the body begins with IP and UDP headers, and fields are those of these")
    ipv6: bool = Field(False, description="fields, and headers that are made, are of IPv6, else of IPv4")
    change_cpu: Cpu | None = Field(description="CPU of the thread that changes entries; null: the kernel chooses one")
    tables: list[Table] = Field(min_length=1, max_length=MAX_TABLES)


WORKLOAD = {"pipeline": (Pipeline | None, Field(description="of the packet handler match_action, and of no other"))}


def pipeline_of(workload: Part) -> Pipeline | None:
    """The tables of a plan's workload; None if it has none."""
    return cast(Pipeline | None, cast(Any, workload).pipeline)
