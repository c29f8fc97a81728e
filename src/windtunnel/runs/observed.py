"""What is kept of a run that was another program's, observed while it worked."""

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.runs.rows import PortRow, StageRow


class Observed(BaseModel):
    """An application of somebody else, and what stands for it in tables of runs. Its windows are in the run directory."""

    model_config = ConfigDict(extra="forbid")

    program: str = Field(description="name of its program")
    pid: int = Field(gt=0)
    command: list[str] = Field(description="with its arguments")
    dpdk: str | None = Field(description="release of its DPDK, by itself; null: not known")
    prefix: str | None = Field(description="EAL's file prefix; null: not known")
    tsc_hz: float = Field(gt=0, le=1e12, description="ticks of its clock a second, measured against CLOCK_MONOTONIC")
    stages: list[StageRow] = Field(
        description="the endpoint is a thread of its data path; shares are of that thread's time"
    )
    ports: list[PortRow]
