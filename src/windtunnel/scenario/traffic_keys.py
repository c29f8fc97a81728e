"""Keys of a load that differs: sizes from message to message, rates from phase to phase, bodies that come from a source."""

from typing import Annotated, Literal

from pydantic import Field

from windtunnel.engine.plan_values import (
    Arrivals,
    Exponent,
)
from windtunnel.scenario.quantities import AnyRate, Duration, Size
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Message, Text, Wanted


class Sizes(Table):
    """Sizes that differ from message to message, drawn from the seed: the same on every repeat."""

    distribution: Literal["imix", "uniform", "zipf", "file"] = Field(
        description="imix: frames of a genome in turn; uniform: a range; zipf: a range by rank; file: a list with weights"
    )
    genome: Text | None = Field(
        None, description="imix: frame sizes with FCS (RFC 6985), one letter each, as in aaaaaaaeeeeg"
    )
    custom: Annotated[
        dict[str, Annotated[int, Size("64B", "9018B")]],
        Wanted('a table of letters and sizes from "64B" to "9018B", as in { A = 90 }'),
    ] = Field(default_factory=dict, description="imix: sizes of capital letters")
    least: Message | None = Field(None, description="uniform, zipf: the smallest")
    most: Message | None = Field(None, description="uniform, zipf: the largest")
    step: Annotated[int, Field(ge=1, le=1 << 22)] = Field(1, description="zipf: step between sizes, bytes")
    exponent: Exponent | None = Field(
        None, description="zipf: the smallest size has rank 1, rank k a weight of 1 / k^exponent"
    )
    file: Text | None = Field(
        None, description="file: lines of a size in bytes and a weight (1), relative to this file"
    )


class LoadPhase(Table):
    """A time in which the load is the same. After the last phase the first one starts again."""

    duration: Annotated[int, Duration("1us", "24h")] = Field(description="length of the phase")
    rate: AnyRate = Field(description="messages per second, 0pps for none")
    arrivals: Arrivals | None = Field(None, description="spacing of the messages; default: the client's")
    on: Annotated[int, Duration("1us", "1h")] | None = Field(
        None, description="bursts: time for which the workload sends at the rate"
    )
    off: Annotated[int, Duration("1us", "1h")] | None = Field(None, description="bursts: pause after that")
