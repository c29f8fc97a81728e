"""The keys of [validity]: limits that decide which windows count, and whether a run is valid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from windtunnel.scenario.quantities import Duration
from windtunnel.scenario.table import Table


@dataclass(frozen=True)
class Limit:
    """Marks a key as a limit, and says on which side of its default it lets more runs pass."""

    relaxed: Literal["above", "below"]
    unit: Literal["share", "ppm"] = "share"

    def relaxes(self, value: float, default: float) -> bool:
        return value > default if self.relaxed == "above" else value < default

    def written(self, value: float) -> str:
        return f"{value:.4g} ppm" if self.unit == "ppm" else f"{value * 100:.4g}%"


Share = Annotated[float, Field(ge=0, le=1), Limit(relaxed="above")]


class Validity(Table):
    """Validity limits. Shares are from 0 to 1; a share of 1 switches the limit off."""

    state: str | None = Field(
        None,
        description='host state that the metrics are of, as in "one-l3"; default: the state with the most windows',
    )
    settle: Annotated[int, Duration("0s", "24h")] = Field(
        "20s",
        validate_default=True,
        description="longest measurement of `windtunnel run`: a run that has not settled by its duration goes on up to this time",
    )
    max_preempted: Share = Field(
        0.1,
        description="share of a window in which a worker or the thread of a copier was preempted, or the hypervisor took its CPU (steal); a window above it is excluded",
    )
    max_slowdown: Share = Field(
        0.1, description="slowdown of a core against the median window; a window above it is excluded"
    )
    max_excluded_windows: Share = Field(
        0.5, description="share of the measured windows that may be excluded; above it the run is invalid"
    )
    max_unsent: Share = Field(
        0.01, description="share of the offered messages that a client too slow for its rate may leave unsent"
    )
    max_drift: Share = Field(
        0.1,
        description="change of the response rate (open loop: of the median latency) in one direction during the measurement",
    )
    max_clock_error: Annotated[float, Field(ge=0, le=1e6), Limit(relaxed="above", unit="ppm")] = Field(
        100, description="difference between the TSC and the kernel's clock, in parts per million"
    )


def relaxed(values: Mapping[str, Any]) -> list[str]:
    """The limits among these values of [validity] that let more pass than the defaults do, as in "max_drift 100% instead of 10%"."""
    return [
        f"{name} {limit.written(values[name])} instead of {limit.written(field.default)}"
        for name, field in Validity.model_fields.items()
        for limit in field.metadata
        if isinstance(limit, Limit)
        and isinstance(values.get(name), int | float)
        and limit.relaxes(values[name], field.default)
    ]
