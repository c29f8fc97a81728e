"""What is kept of a run that was another program's, observed while it worked."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.runs.rows import PortRow, StageRow

LEAST_TSC_HZ, MOST_TSC_HZ = 1.0, 1e12
"""Bounds of a clock's frequency: those of x86-64 have some GHz, and 1 stands for one that is not known yet."""


class ObservedQueue(BaseModel):
    """What a queue of a port moved, in one direction."""

    model_config = ConfigDict(extra="forbid")

    port: int = Field(ge=0, lt=1024)
    queue: int = Field(ge=0, lt=65536)
    receives: bool
    packets_per_s: float = Field(ge=0, le=1e12)
    bursts: dict[Annotated[int, Field(ge=0, le=65)], Annotated[int, Field(ge=0, lt=1 << 64)]] = Field(
        description="packets of a call -> calls; 65: more than 64"
    )


class Observed(BaseModel):
    """An application of somebody else, and what stands for it in tables of runs. Its windows are in the run directory."""

    model_config = ConfigDict(extra="forbid")

    by: Literal["probe", "telemetry"] = Field(
        description="telemetry: the application's own alone, which has its ports and no threads"
    )
    program: str = Field(description="name of its program")
    pid: int = Field(gt=0)
    command: list[str] = Field(description="with its arguments")
    dpdk: str | None = Field(description="release of its DPDK, by itself; null: not known")
    prefix: str | None = Field(description="EAL's file prefix; null: not known")
    tsc_hz: float = Field(
        ge=LEAST_TSC_HZ, le=MOST_TSC_HZ, description="ticks of its clock a second, measured against CLOCK_MONOTONIC"
    )
    stages: list[StageRow] = Field(
        description="the endpoint is a thread of its data path; shares are of that thread's time"
    )
    ports: list[PortRow]
    queues: list[ObservedQueue] = Field(max_length=1024)
    frame_bytes: float | None = Field(None, ge=1, le=65536, description="mean, without FCS; null: no packet was sized")
