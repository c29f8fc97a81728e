"""The accounts of copies, which the result closes."""

from typing import Any, Literal, cast

from pydantic import Field

from windtunnel.engine.line_model import Line
from windtunnel.engine.plan_values import Side

CopierKind = Literal["core", "hardware", "modelled"]
"""Who moves the bytes: a core, the worker's or another one, an engine of the host, or one that is given as figures."""


class DriverCopies(Line):
    """What a dmadev's driver has counted."""

    submitted: int
    completed: int
    errors: int


class PlantedFaults(Line):
    fault: str
    count: int


class CpuCopy(Line):
    """One size, the median of 31 batches."""

    bytes: int
    cycles: float = Field(description="TSC cycles of a copy by rte_memcpy")


class CpuCopies(Line):
    """What a copy by the CPU would have cost in the copier's place, measured before the run."""

    from_bytes: int = Field(
        description="what was copied from, piece by piece: the workload's source (of order hot, one request's bytes); without a source, "
        "memory of its own"
    )
    to_places: int = Field(
        description="what was copied to, in turn: mbufs, as many as one application may have in flight if one worker has room for them in "
        "its cache, else all that were free; of a stream, the writes that its send buffer holds"
    )
    costs: list[CpuCopy] = Field(description="ascending by size, up to the largest copy of a packet")


class CopyLedger(Line):
    """The copies of one application over the whole run: submitted = ended + never ended."""

    workload: int
    endpoint: Side = Field("client", description="client: of requests; server: of responses")
    application: int
    engine: str = Field(description="the copier")
    kind: CopierKind
    device: str
    cpu: int | None = Field(
        description="CPU on which the thread of a software copier runs, as the kernel says; null: it has none"
    )
    cpu_ns: int | None = Field(description="CPU time of that thread (schedstat)")
    at_least_bytes: int = Field(description="smaller copies were left to the CPU")
    cpu_copies: CpuCopies | None = Field(None, description="null: copies end with their submit, or there are none")
    submitted: int = Field(description="copies that the copier took")
    measuring: int = Field(
        description="of these, copies that only measured: before the run, and the ways of the host's probes"
    )
    ended: int = Field(description="those that it reported, well or failed")
    copies: int = Field(description="copies of packets that ended well")
    by_cpu: dict[str, int] = Field(description="reason -> copies that the CPU made in its place")
    uncopied: int
    bytes: int
    never_ended: int = Field(
        description="copies that the copier took and had not ended at its timeout: anything but 0 makes the run invalid"
    )
    missing: int = Field(description="submitted - ended - never_ended; anything but 0 makes the run invalid")
    driver: DriverCopies | None = Field(
        description="the driver's own account, which must be the same; null: the copier has no driver"
    )
    planted: PlantedFaults | None
    breach: str | None = Field(
        None,
        description="the rule of windtunnel/copier.h that the user's own copier has broken, with what it said; anything but null makes the run "
        "invalid",
    )


class WrongByte(Line):
    """The first wrong byte that was found: of which message, and where in its request or response."""

    application: int = Field(description="the client's")
    slot: int
    generation: int
    offset: int


class VerifiedLedger(Line):
    """Packets whose every byte one application checked: a server those of requests, a client those of responses."""

    workload: int
    endpoint: Side = Field("server", description="who checked")
    application: int
    packets: int
    wrong_packets: int = Field(description="anything but 0 makes the run invalid")
    wrong_bytes: int
    first: WrongByte | None


RESULT: dict[str, Any] = {"copies": (list[CopyLedger], Field([])), "verified": (list[VerifiedLedger], Field([]))}


def copies_of(result: Line) -> list[CopyLedger]:
    """The ledgers of a result, one for each application with a copier."""
    return cast(list[CopyLedger], cast(Any, result).copies)


def verified_of(result: Line) -> list[VerifiedLedger]:
    """Those of applications that checked bytes."""
    return cast(list[VerifiedLedger], cast(Any, result).verified)
