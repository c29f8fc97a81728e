"""Tenants that poll and measure themselves: `windtunnel-tenant`, its plan and its lines."""

import time
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from windtunnel.engine.lines import Histogram
from windtunnel.errors import UserError
from windtunnel.sharing.native import TENANT, Native


class Phase(BaseModel):
    """`rate` requests a second for `for_ns`; null: until the end."""

    model_config = ConfigDict(extra="forbid")

    rate: float
    for_ns: int | None = None
    arrivals: Literal["poisson", "constant"] = "poisson"


class TenantPlan(BaseModel):
    """What a tenant does. Arrivals are made inside it (`phases`; after the last one its rate goes on), or come through a ring in
    shared memory that a dispatcher fills (`ring`, a file).

    A request costs `service_ns` of the tenant's own CPU time and touches `touched_bytes` of `working_set_bytes` at a random place.
    A silence of more than `gap_ns` between two looks at the clock is a gap; what lies between two gaps is a slice.
    """

    model_config = ConfigDict(extra="forbid")

    phases: list[Phase] = [Phase(rate=5000)]
    ring: str = ""
    seed: int = 1
    service_ns: int = 2500
    working_set_bytes: int = 0
    touched_bytes: int = 0
    queue: int = Field(4096, description="requests that may wait; what comes beyond is lost")
    when_empty: Literal["poll", "yield", "sleep"] = "poll"
    after_polls: int = Field(1, description="empty polls in a row before it yields or sleeps")
    gap_ns: int = 10_000
    start_ns: int = Field(0, description="moment of CLOCK_MONOTONIC at which arrivals begin; 0: at once")
    warmup_ns: int = 0
    duration_ns: int = 1_000_000_000
    window_ns: int = 1_000_000_000
    cpu: int | None = None


class TenantWindow(BaseModel):
    """One window, or the sum of all. Times are of CLOCK_MONOTONIC. Latency is from when a request was meant to come to the end of its
    service, wait to the beginning, posted from when it really was posted (null where arrivals are made inside)."""

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
    yields: int
    latency: Histogram
    wait: Histogram
    posted: Histogram | None
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
        windows = []
        while True:
            line = self._native.next(patience)
            if line is None:
                raise UserError(f"tenant {self.pid} has ended without a result")
            figures = TenantWindow.model_validate(line)
            if figures.type == "result":
                return windows, figures
            windows.append(figures)

    def stop(self) -> None:
        """Asks it to end early; `result` is what it was until then."""
        self._native.close_input()

    def close(self) -> None:
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.close()
