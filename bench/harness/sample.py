"""One measurement of one contestant."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.noise import Noise


@dataclass(frozen=True)
class Sample:
    value: float
    noise: Noise
    raw: dict[str, Any] = field(default_factory=dict)
    """What the value was made of, for the results file."""


Contestant = Callable[[], Sample]


def rate(packets: float, wall_ns: float, run_delay_ns: float | None, steal: float | None) -> Sample:
    """Packets per second of the time that the worker had its core: what the kernel ran there instead is taken out."""
    own_ns = wall_ns - (run_delay_ns or 0)
    raw = {"packets": packets, "wall_ns": wall_ns, "run_delay_ns": run_delay_ns}
    return Sample(packets / own_ns * 1e9, _noise(wall_ns, run_delay_ns, steal), raw)


def cost(packets: float, ticks: float, tsc_hz: float, run_delay_ns: float | None, steal: float | None) -> Sample:
    """TSC ticks per packet, of the time that the worker had its core."""
    own_ticks = ticks - (run_delay_ns or 0) * tsc_hz / 1e9
    raw = {"packets": packets, "ticks": ticks, "tsc_hz": tsc_hz, "run_delay_ns": run_delay_ns}
    return Sample(own_ticks / packets, _noise(ticks / tsc_hz * 1e9, run_delay_ns, steal), raw)


def _noise(wall_ns: float, run_delay_ns: float | None, steal: float | None) -> Noise:
    return Noise(None if run_delay_ns is None else run_delay_ns / wall_ns, steal)
