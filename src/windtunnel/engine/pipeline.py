"""The pipeline of the packet handler `match_action`, as the plan holds it: JSON in the handler's option `pipeline`.

As strict as the plan itself: every key is required, every number is in its base unit, the engine refuses what it does not know.
"""

from typing import Annotated, Literal

from pydantic import Field

from windtunnel.engine.plan import Part

MAX_TABLES = 8
MAX_RULES = 1 << 24
INNER_HEADERS_BYTES = 28
"""IPv4 and UDP in a request's body."""


class KeyField(Part):
    """Bytes of a packet that are a part of a key; one store moves them."""

    place: Literal["l3", "l4", "body"]
    offset: Annotated[int, Field(ge=0, description="from the IPv4 header, the UDP header or the body")]
    bytes: Literal[1, 2, 4, 8, 16]


class Key(Part):
    fields: list[KeyField] = Field(min_length=1, max_length=8)
    bytes: Annotated[int, Field(ge=4, le=64, description="a multiple of 4; what the fields leave is 0")]
    segments: Literal[0, 4, 8, 16] = Field(
        description="bytes of each field where 16 bytes of the body are the key; else 0"
    )


class Meter(Part):
    """Two rates, three colours (RFC 2698)."""

    committed_bytes_per_s: Annotated[int, Field(ge=1)]
    peak_bytes_per_s: Annotated[int, Field(ge=1)]
    burst_bytes: Annotated[int, Field(ge=1)]


class Table(Part):
    name: str
    where: Literal["ingress", "egress"]
    kind: Literal["exact", "lpm", "ternary"]
    method: Literal["hash", "fib", "lpm", "acl", "linear", "tss"]
    key: Key
    rules: Annotated[int, Field(ge=0, le=MAX_RULES, description="to generate; 0: they stand in `file`")]
    file: str | None = Field(description="absolute path of a text that the engine reads rules from")
    prefixes: Literal["24", "mixed"]
    masks: Annotated[int, Field(ge=1, le=256)]
    load: Annotated[float, Field(gt=0, le=1)]
    lookup: Literal["bulk", "single"]
    access: Literal["pointer", "rcu"]
    entry: Literal["inline", "pointed"]
    per_core: bool
    action: Literal["forward", "rewrite", "count", "meter", "drop"]
    meter: Meter | None
    miss_drops: bool
    changes_per_s: Annotated[int, Field(ge=0)]
    seed: Annotated[int, Field(ge=0, lt=1 << 64)]
    steered: bool = Field(description="whoever makes the traffic draws its key, and the packet says what it hits")
    hit: Annotated[float, Field(ge=0, le=1)]
    popularity: Literal["uniform", "zipf"]
    exponent: Annotated[float, Field(gt=0, le=64)]
    expected: Annotated[int, Field(ge=0, description="offset in the body of what the packet says of its key")]


class Pipeline(Part):
    traffic: Literal["none", "frames", "requests"] = Field(
        description="who writes keys: nobody, the handler into empty frames, the client into its requests"
    )
    body_offset: Annotated[int, Field(ge=0, description="of the body from the UDP payload")]
    body_bytes: Annotated[int, Field(ge=0, description="that a packet must have there")]
    inner: bool = Field(description="the body begins with IPv4 and UDP headers, and fields are those of these")
    change_cpu: Annotated[int, Field(ge=0)] | None = Field(
        description="where entries are changed from; null: wherever the kernel puts the thread"
    )
    tables: list[Table] = Field(min_length=1, max_length=MAX_TABLES)
