"""The load of Fig. 11 over time, and what follows from it: phases, weights, what the weights leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from windtunnel.engine.lines import Histogram
from windtunnel.runs.histogram import merge
from windtunnel.sharing.pools.weights import CPU_WEIGHT, Share, dedicated
from windtunnel.sharing.tenant import TenantFigures

Load = Literal["low", "middle", "peak"]
SHAPE: tuple[tuple[float, Load], ...] = ((0.2, "low"), (0.2, "middle"), (0.2, "peak"), (0.2, "middle"), (0.2, "low"))
"""Parts of the whole: 0-10 s, 10-20, 20-30, 30-40, 40-50 in the paper."""
PARTS: dict[Load, float] = {"low": 0.01, "middle": 0.1, "peak": 1.0}
"""Of the peak: 1k, 10k, 100k requests a second in the paper."""
WEIGHTS: dict[Load, int] = {"low": CPU_WEIGHT // 4, "middle": CPU_WEIGHT // 2, "peak": CPU_WEIGHT}
"""That each tenant asks for: together half a CPU, one, two."""
WINDOWS = 100


@dataclass(frozen=True)
class Window:
    """What all tenants did in one window."""

    at_ns: int
    """Its middle, since the start."""
    begin_ns: int
    """CLOCK_MONOTONIC."""
    end_ns: int
    served_per_s: float
    latency: Histogram | None


@dataclass(frozen=True)
class Timeline:
    steps: tuple[tuple[int, Load], ...]
    """Length in ns, load."""
    peak_per_s: float
    """Of one tenant."""

    @classmethod
    def of(cls, seconds: float, peak_per_s: float) -> Self:
        return cls(tuple((round(part * seconds * 1e9), load) for part, load in SHAPE), peak_per_s)

    @property
    def duration_ns(self) -> int:
        return sum(length for length, _ in self.steps)

    @property
    def window_ns(self) -> int:
        return self.duration_ns // WINDOWS

    @property
    def phases(self) -> list[tuple[int, float]]:
        """Length in ns, requests a second of one tenant."""
        return [(length, PARTS[load] * self.peak_per_s) for length, load in self.steps]

    def load_at(self, at_ns: int) -> Load:
        end = 0
        for length, load in self.steps:
            end += length
            if at_ns < end:
                return load
        return self.steps[-1][1]

    def left_cpu(self, tenants: int = 2, cpus: int = 2) -> float:
        """CPUs that the weights leave on average."""
        left = sum(length * (cpus - dedicated(tenants * WEIGHTS[load])) for length, load in self.steps)
        return left / self.duration_ns

    def gathered(self, of_tenants: Sequence[Sequence[TenantFigures]], start_ns: int) -> list[Window]:
        """The tenants' windows put together by time; a tenant that did not run at a window's end made that window longer."""
        bins: dict[int, list[TenantFigures]] = {}
        for windows in of_tenants:
            for window in windows:
                middle = (window.begin_ns + window.end_ns) // 2 - start_ns
                bins.setdefault(min(max(middle // self.window_ns, 0), WINDOWS - 1), []).append(window)
        found = []
        for number, windows in sorted(bins.items()):
            begin = start_ns + number * self.window_ns
            rate = sum(w.served / max(1, w.end_ns - w.begin_ns) for w in windows) * 1e9
            middle = number * self.window_ns + self.window_ns // 2
            found.append(Window(middle, begin, begin + self.window_ns, rate, merge(w.latency for w in windows)))
        return found


def scaled_steps(timeline: Timeline, names: Sequence[str]) -> list[tuple[int, list[Share]]]:
    """When the tenants ask, since the start, and for which weights. The first time is before the start."""
    steps, at = [], 0
    for length, load in timeline.steps:
        steps.append((at or -_AHEAD_NS, [Share(name, WEIGHTS[load]) for name in names]))
        at += length
    return steps


_AHEAD_NS = 200_000_000
