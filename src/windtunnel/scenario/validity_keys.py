"""The keys of [validity]: what a run holds itself to before it shows a figure."""

from typing import Annotated

from pydantic import Field

from windtunnel.scenario.table import Table

Share = Annotated[float, Field(ge=0, le=1)]


class Validity(Table):
    """What a run holds itself to. Shares are from 0 to 1; 1 lets everything pass."""

    stolen: Share = Field(
        0.1,
        description="of a window in which the kernel or the hypervisor ran others on a worker's CPU; beyond it the window is left out",
    )
    slower: Share = Field(
        0.1, description="by which a core may be slower than in most windows; beyond it the window is left out"
    )
    marked: Share = Field(0.5, description="of the measured windows that may be left out; more, and the run is invalid")
    unsent: Share = Field(
        0.01, description="of the messages offered that a client too slow for its rate may leave unsent"
    )
    drift: Share = Field(
        0.1,
        description="by which answers a second (open loop: the median latency) may change in one direction while measured",
    )
    clock: Annotated[float, Field(ge=0, le=1e6)] = Field(
        100, description="parts in a million by which the TSC may part from the kernel's clock"
    )
