"""The keys of copies in a scenario."""

from typing import Annotated, Any, Literal, cast

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from windtunnel.engine.plan_values import Batched
from windtunnel.parts.copies import plan
from windtunnel.parts.copies.plan import CopyDepth, CopyWay, SourceBytes, SourceOrder
from windtunnel.scenario.quantities import Duration, within, write
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Option, Text, Wanted

_COPY_SIZE = within("size", plan.CopySize)


def _copy_size(value: Any) -> Any:
    return value if value == "auto" and isinstance(value, str) else _COPY_SIZE.read(value)


CopierOptions = Annotated[dict[Text, Option], Wanted("a table of names and values; `windtunnel copiers` lists them")]
CopySize = Annotated[
    Literal["auto"] | int,
    PlainValidator(_copy_size),
    PlainSerializer(lambda size: size if size == "auto" else write("size", size)),
    Wanted(f'"auto" or {_COPY_SIZE.wanted()}'),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]


class CopySource(Table):
    """The buffer from which request bodies are copied. Without it every body is one pattern that stays in the cache."""

    bytes: Annotated[int, within("size", SourceBytes)] = Field(
        "128MiB", validate_default=True, description="size; larger than the caches for copies from memory"
    )
    order: SourceOrder = Field("rotating", description="rotating: each request takes the next part; hot: the same one")


class Copies(Table):
    """How bodies come into packets. With a source the client copies the bodies of requests from it; without a source the server's handler
    names the copies of responses, as `fs_read` does."""

    engine: Text = Field(
        "cpu",
        min_length=1,
        description="copier: a name that `windtunnel copiers` lists with its options, or the path of a shared object, relative to the scenario file",
    )
    options: CopierOptions = Field(default_factory=dict, description="options of the copier")
    depth: CopyDepth = Field(64, description="most copies of one application that the copier has at a time")
    batch: Batched = Field(32, description="most copies of one submit, and of one poll")
    way: CopyWay = Field(
        "pipelined",
        description="pipelined: a packet leaves when its copy has ended; wait_all: when the copies of its burst have; zero: no copy, "
        "the packet refers to the source",
    )
    at_least: CopySize = Field(
        "0B",
        validate_default=True,
        description="the CPU makes smaller copies; auto: the size is measured before the run (needs a source)",
    )
    verify: bool = Field(False, description="the receiver checks every byte; a wrong one makes the run invalid")
    timeout: Annotated[int, Duration("1ms", "1h")] = Field(
        "1s", validate_default=True, description="a copy that has not ended after this time makes the run invalid"
    )


WORKLOAD: dict[str, Any] = {
    "source": (
        CopySource | None,
        Field(None, description="where the bodies of requests come from; a stream always has one"),
    ),
    "copies": (
        Copies | None,
        Field(None, description="how bodies come into packets: of requests from a source, else of responses"),
    ),
}


def source_keys(workload: Table) -> CopySource | None:
    """The table `source` of a scenario's workload."""
    return cast(CopySource | None, cast(Any, workload).source)


def copies_keys(workload: Table) -> Copies | None:
    """The table `copies` of a scenario's workload."""
    return cast(Copies | None, cast(Any, workload).copies)
