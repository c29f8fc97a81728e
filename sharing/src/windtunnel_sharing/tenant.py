"""Tenants that poll and measure themselves: `windtunnel-tenant`, its plan and its lines."""

import time
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.api.errors import UserError
from windtunnel.api.histograms import Histogram
from windtunnel_sharing.native import TENANT, Native


class Phase(BaseModel):
    """`rate` requests per second for `for_ns`; null: until the end."""

    model_config = ConfigDict(extra="forbid")

    rate: float
    for_ns: int | None = None
    arrivals: Literal["poisson", "constant"] = "poisson"


class TenantPlan(BaseModel):
    """The plan of a tenant. It makes its own arrivals (`phases`; the last rate continues).

    A request costs `service_ns` of the tenant's own CPU time and touches `touched_bytes` of `working_set_bytes` at a random place.
    More than `gap_ns` between two readings of the clock is a gap; the time between two gaps is a slice.
    """

    model_config = ConfigDict(extra="forbid")

    phases: list[Phase] = [Phase(rate=5000)]
    seed: int = 1
    service_ns: int = 2500
    working_set_bytes: int = 0
    touched_bytes: int = 0
    queue: int = Field(4096, description="requests that may wait; further ones are lost")
    when_empty: Literal["poll", "sleep"] = "poll"
    gap_ns: int = 10_000
    start_ns: int = Field(0, description="moment of CLOCK_MONOTONIC at which arrivals begin; 0: at once")
    warmup_ns: int = 0
    duration_ns: int = 1_000_000_000
    window_ns: int = 1_000_000_000
    cpu: int | None = None


class TenantWindow(BaseModel):
    """One window, or the sum of all. Times are of CLOCK_MONOTONIC. Latency counts from the intended arrival of a request to the end of
    its service, wait to its beginning."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["window", "result"]
    begin_ns: int
    end_ns: int
    own_ns: int = Field(description="CPU time of the polling thread")
    served_ns: int = Field(description="of it in service")
    offered: int
    served: int
    lost: int
    polls: int
    empty_polls: int
    sleeps: int
    latency: Histogram
    wait: Histogram
    slice: Histogram
    gap: Histogram


class Tenant:
    """A running tenant; `tid` is the thread that polls, which a slicer takes as its member. Raises UserError when it cannot start."""

    def __init__(self, plan: TenantPlan):
        self.plan = plan
        self._native = Native(TENANT, plan.model_dump())
        try:
            hello = self._native.response()
        except UserError:
            self._native.close()
            raise
        self.pid, self.tid = hello["pid"], hello["tid"]

    def result(self) -> tuple[list[TenantWindow], TenantWindow]:
        """Its windows and their sum, once it has ended. Raises UserError where it was killed."""
        patience = (
            60
            + (self.plan.warmup_ns + 2 * self.plan.duration_ns) / 1e9
            + max(0, self.plan.start_ns - time.monotonic_ns()) / 1e9
        )
        windows: list[TenantWindow] = []
        while True:
            line = self._native.next(patience)
            if line is None:
                raise UserError(f"tenant {self.pid} ended without a result")
            window = TenantWindow.model_validate(line)
            if window.type == "result":
                return windows, window
            windows.append(window)

    def stop(self) -> None:
        """Asks it to end early; `result` covers the time until then."""
        self._native.close_input()

    def close(self) -> None:
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
