"""What one trial gave."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from windtunnel.measure.search.latency import Latencies


@dataclass(frozen=True)
class TrialResult:
    """A trial and what became of its packets (RFC 9971, sections 4.5.9 and 4.5.10).

    `load` and `duration_s` are those that were asked for. Counts are of all ports together. Raises ValueError for
    counts and times that cannot be.
    """

    load: float
    """Intended, packets (or requests) per second."""
    duration_s: float
    """Intended, of the traffic alone."""
    sent: int
    forwarded: int
    """Number of the sent that came back; a late one counts only if the measurer waited for it."""
    unsent: int = 0
    """Intended, but the generator could not. Counted against the load, as RFC 9971, section 4.9.1 recommends, and distinguished from
    what the device lost."""
    effective_duration_s: float | None = None
    """What the goal's duration sum counts for it (RFC 9971, section 4.5.8); `duration_s` if None."""
    took_s: float | None = None
    """Time from the call to its return, start-up and waiting included; counts towards `Limits.time_s`. `duration_s` if
    None."""
    excluded: str | None = None
    """Why it is excluded (the host preempted a worker, an invalid run); None for a trial that
    counts. An excluded trial is kept and counts towards the limits. It classifies nothing and is repeated."""
    latencies: Latencies | None = None
    """Latencies of the messages that were to be sent; a goal with a latency objective needs them."""
    details: Any = None
    """Any reference for the caller (a run directory); the search does not use it."""

    def __post_init__(self) -> None:
        times = {
            "load": self.load,
            "duration": self.duration_s,
            "effective duration": self.effective_s,
            "time": self.took,
        }
        if wrong := [f"{name} {value:g}" for name, value in times.items() if not 0 < value < math.inf]:
            raise ValueError(f"a trial with {', '.join(wrong)}")
        counts = {"sent": self.sent, "forwarded": self.forwarded, "unsent": self.unsent}
        if wrong := [f"{name} {value}" for name, value in counts.items() if value < 0]:
            raise ValueError(f"a trial with {', '.join(wrong)}")
        if self.forwarded > self.sent:
            raise ValueError(f"a trial that forwarded {self.forwarded} of {self.sent} sent")
        if self.excluded is None and not self.intended:
            raise ValueError("a trial that was to send nothing has no loss ratio")

    @property
    def intended(self) -> int:
        return self.sent + self.unsent

    @property
    def lost(self) -> int:
        """Packets that the device lost; without what the generator could not send."""
        return self.sent - self.forwarded

    @property
    def loss_ratio(self) -> float:
        """Share lost of what was intended (RFC 9971, section 4.5.6): what the generator could not send counts as lost."""
        return (self.lost + self.unsent) / self.intended

    @property
    def device_loss_ratio(self) -> float:
        """Share lost of what was sent: the device's part alone. 0 if nothing was sent."""
        return self.lost / self.sent if self.sent else 0.0

    @property
    def forwarding_rate(self) -> float:
        """Per second (RFC 9971, section 4.5.7)."""
        return self.load * self.forwarded / self.intended

    @property
    def effective_s(self) -> float:
        return self.duration_s if self.effective_duration_s is None else self.effective_duration_s

    @property
    def took(self) -> float:
        """Seconds."""
        return self.duration_s if self.took_s is None else self.took_s


Measure = Callable[[float, float], TrialResult]
"""One trial: load (per second) and duration (seconds) in, no more than that (RFC 9971, section 4.5.3)."""
