"""The load of Fig. 11 over time, and what follows from it: phases, weights, what the weights leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from windtunnel.api.histograms import Histogram, merge
from windtunnel_sharing.pools.weights import CPU_WEIGHT, Share, dedicated
from windtunnel_sharing.tenant import TenantWindow

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

    def gathered(self, of_tenants: Sequence[Sequence[TenantWindow]], start_ns: int) -> list[Window]:
        """The tenants' windows put together by time. A tenant that did not run at a window's end made that window longer: what it served
        is spread over its time, and its latencies stand in each window that it covers."""
        windows = [window for windows in of_tenants for window in windows]
        found = []
        for number in range(WINDOWS):
            begin = start_ns + number * self.window_ns
            end = begin + self.window_ns
            of = [(one, min(one.end_ns, end) - max(one.begin_ns, begin)) for one in windows]
            of = [(one, overlap) for one, overlap in of if overlap > 0]
            if of:
                rate = (
                    sum(one.served * overlap / (one.end_ns - one.begin_ns) for one, overlap in of)
                    / self.window_ns
                    * 1e9
                )
                middle = number * self.window_ns + self.window_ns // 2
                # a window that only touches this one is another's
                mostly = [one for one, overlap in of if 2 * overlap >= min(self.window_ns, one.end_ns - one.begin_ns)]
                found.append(Window(middle, begin, end, rate, merge(one.latency for one in mostly) if mostly else None))
        return found

    def while_load(self, load: Load, of_tenants: Sequence[Sequence[TenantWindow]], start_ns: int) -> list[TenantWindow]:
        """The tenants' windows whose middle lies in a load."""
        windows = (window for windows in of_tenants for window in windows)
        return [one for one in windows if self.load_at((one.begin_ns + one.end_ns) // 2 - start_ns) == load]


def scaled_steps(timeline: Timeline, names: Sequence[str]) -> list[tuple[int, list[Share]]]:
    """When the tenants ask, since the start, and for which weights. The first time is before the start."""
    steps, at = [], 0
    for length, load in timeline.steps:
        steps.append((at or -_AHEAD_NS, [Share(name, WEIGHTS[load]) for name in names]))
        at += length
    return steps


_AHEAD_NS = 200_000_000
