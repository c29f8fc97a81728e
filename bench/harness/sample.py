"""One measurement of one contestant."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from harness.noise import Noise
from windtunnel.host.states import Where


@dataclass(frozen=True)
class Sample:
    value: float
    noise: Noise
    raw: dict[str, Any] = field(default_factory=dict)
    """What the value was made of, for the results file."""
    where: Where = field(default_factory=Where)
    """State of the host meanwhile. Not known of what is no run of our engine."""

    @property
    def state(self) -> str | None:
        return self.where.state

    @property
    def line_ns(self) -> float | None:
        return self.where.line_ns

    def at(self, where: Where) -> Self:
        return replace(self, where=where)


Contestant = Callable[[], Sample]


def rate(packets: float, wall_ns: float, preempted_ns: float | None, steal: float | None) -> Sample:
    """Packets per second of the time that the worker had its core: time in which it was preempted is taken out."""
    own_ns = wall_ns - (preempted_ns or 0)
    raw = {"packets": packets, "wall_ns": wall_ns, "preempted_ns": preempted_ns}
    return Sample(packets / own_ns * 1e9, _noise(wall_ns, preempted_ns, steal), raw)


def cost(packets: float, ticks: float, tsc_hz: float, preempted_ns: float | None, steal: float | None) -> Sample:
    """TSC ticks per packet, of the time that the worker had its core."""
    own_ticks = ticks - (preempted_ns or 0) * tsc_hz / 1e9
    raw = {"packets": packets, "ticks": ticks, "tsc_hz": tsc_hz, "preempted_ns": preempted_ns}
    return Sample(own_ticks / packets, _noise(ticks / tsc_hz * 1e9, preempted_ns, steal), raw)


def _noise(wall_ns: float, preempted_ns: float | None, steal: float | None) -> Noise:
    return Noise(None if preempted_ns is None else preempted_ns / wall_ns, steal)
