"""The values of a plan: words, ranges, and what both sides must agree on beside them.

Each stands here once. The models of the plan use them, the keys of a scenario that mean the same import them, and the engine gets
them as C++ from `schemas/plan.json` when it is built (engine/plan/generate.py). What JSON Schema has no word for goes there as
`x-...`; the generator says what it understands.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Any, Literal, get_args

from annotated_types import Ge, Le
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.config import JsonDict
from pydantic_core import core_schema

MAX_BATCH = 1024
"""Packets of one call of a stage."""
MAX_MESSAGE_BYTES = 4 << 20
MESSAGE_HEADER_BYTES = 16
"""Size of the header at the head of every segment, within the UDP payload."""
MAX_SEGMENTS = 65535
"""Most segments of a message: its header counts them in two bytes."""
MAX_VARIANTS = 1024
"""Most variants of a run; an experiment has some dozens."""
MAX_WORKLOADS = 256
"""A message header has a byte for them."""
MAX_APPLICATIONS = 65535
"""Most applications of an endpoint: a message header has two bytes for them."""
MAX_QUEUES = 64
MAX_PROBE_ROUNDS = 16
"""Most rounds in which a probe of the host sends cache lines between workers: some 40 us each, for which all workers are held."""
MAX_AT_ONCE = 4096
"""Copies that a modelled engine works on at a time."""
MAX_NS = 10**15
"""Eleven days: the sum of some thousands of them, and the same in ticks of a clock, fits 63 bits."""
MAX_DELAY_NS = 1_000_000
"""Most delay that a variant adds to a stage for each object: a full burst is then delayed by a second."""

CONSTANTS: JsonDict = {
    name: value
    for name, value in list(globals().items())
    if name.startswith(("MAX_", "MESSAGE_")) and isinstance(value, int)
}
"""What C and C++ get by name; bounds reach them with the readers."""


class Part(BaseModel):
    """A part of the plan: strict. Every key is written; one with a default may be missing from a record of before it was there."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )


def cpp(name: str) -> Any:
    """The C++ name of an enum, or the type of a whole number; by default they follow from the key and from the range."""
    return Field(json_schema_extra={"x-cpp": name})


def struct(name: str, core: bool = False) -> ConfigDict:
    """The C++ name of a model, which by default is its own with `_plan` behind it. `core`: the engine's room core has it too."""
    return ConfigDict(json_schema_extra={"x-cpp": name} | ({"x-core": True} if core else {}))


def bounds(annotated: Any) -> tuple[Any, Any]:
    """The least and the most of a type that is declared here."""
    limits = [limit for part in get_args(annotated)[1:] for limit in getattr(part, "metadata", [part])]
    low = next(limit.ge for limit in limits if isinstance(limit, Ge))
    return low, next(limit.le for limit in limits if isinstance(limit, Le))


def _checked(holds: Callable[[Any], bool], what: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(f"{value!r} is {what}")
        return value

    return AfterValidator(check)


@dataclass(frozen=True)
class PowerOfTwo:
    """Annotation of a whole number that must be one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {"x-power-of-two": True}

    @staticmethod
    def checked(value: int) -> int:
        if value & (value - 1):
            below = 1 << value.bit_length() - 1
            raise ValueError(f"{value} is not a power of two: {below} and {2 * below} are")
        return value


def _is_ip(text: str) -> bool:
    try:
        return str(ip_address(text)) == text
    except ValueError:
        return False


U16, U32, U64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1

Count = Annotated[int, Field(ge=0, le=U32)]
LargeCount = Annotated[int, Field(ge=0, le=U64)]
Index = Annotated[int, Field(ge=0, le=U32, description="position in the list that the key names")]
Time = Annotated[int, Field(ge=0, le=MAX_NS)]
Length = Annotated[int, Field(ge=1, le=MAX_NS)]
"""A time that is not 0."""
Real = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1)]

Text = Annotated[str, _checked(lambda text: "\0" not in text, "text that holds a NUL character")]
MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", re.ASCII)
Mac = Annotated[
    str,
    _checked(lambda text: MAC.fullmatch(text) is not None, "not a MAC address like 02:00:00:00:00:01, in lower case"),
    Field(json_schema_extra={"format": "mac"}),
]
Ip = Annotated[str, _checked(_is_ip, "not an IP address"), Field(json_schema_extra={"format": "ip"})]

Stage = Literal["app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Side = Literal["client", "server"]
Memory = Literal["hugepages", "no-huge"]
Level = Literal["off", "counts", "sampled", "cycles", "histograms"]
PoolOps = Literal["ring_mp_mc", "ring_sp_sc", "ring_mt_rts", "ring_mt_hts", "stack", "lf_stack", "bucket"]
ResponseMbuf = Literal["request", "new"]
Arrivals = Literal["constant", "poisson"]
Trait = Literal[
    "server",
    "client",
    "both_ends",
    "together",
    "process_each",
    "foreign_peer",
    "silent",
    "unfilled",
    "twice",
    "moves_mbufs",
    "emulates",
    "nic",
    "leaves_mac",
    "dense_pool",
    "unframed",
    "own_mac",
    "paired_queues",
    "timed",
    "lossy",
]
"""What can be done on a wire and what it does: include/windtunnel/wire.h. `timed`: an option of it makes frames come at times of
their own. `lossy`: an option of it lets packets be lost on the way."""

SampleEvery = Annotated[int, Field(ge=1, le=65521)]
PoolSize = Annotated[int, Field(ge=1, le=1 << 22)]
PoolCache = Annotated[int, Field(ge=0, le=512)]
"""Its limit is RTE_MEMPOOL_CACHE_MAX_SIZE."""
ReorderDepth = Annotated[int, Field(ge=1, le=64)]
LinkRate = Annotated[float, Field(ge=1e6, le=1e12)]
"""Between these bounds the time of a byte fits the link's fixed point."""
LinkDelay = Annotated[int, Field(ge=0, le=10_000_000_000)]
LinkQueue = Annotated[int, Field(ge=1, le=1 << 20)]
Queues = Annotated[int, Field(ge=1, le=MAX_QUEUES)]
Descriptors = Annotated[int, Field(ge=2, le=32768)]
Threshold = Annotated[int, Field(ge=0, le=32768)]
Batched = Annotated[int, Field(ge=1, le=MAX_BATCH)]
MAX_INFLIGHT = 1 << 20
Inflight = Annotated[int, Field(ge=1, le=MAX_INFLIGHT)]
Queue = Annotated[int, Field(ge=0, le=MAX_QUEUES - 1)]
UdpPort = Annotated[int, Field(ge=1, le=65535)]
MOST_MTU = 9000
Mtu = Annotated[int, Field(ge=68, le=MOST_MTU)]
VlanId = Annotated[int, Field(ge=1, le=4094)]
VlanPriority = Annotated[int, Field(ge=0, le=7)]
RingSize = Annotated[int, Field(ge=2, le=1 << 20), PowerOfTwo()]
MessageBytes = Annotated[int, Field(ge=MESSAGE_HEADER_BYTES, le=MAX_MESSAGE_BYTES)]
ExtraTicks = Annotated[int, Field(ge=0, le=10**9)]
"""A worker waits for those of a whole burst in one go."""
Messages = Annotated[int, Field(ge=1, le=1 << 62)]
Cpu = Annotated[int, Field(ge=0, le=4095), cpp("int")]
Exponent = Annotated[float, Field(gt=0, le=64)]
"""Of Zipf's law."""
