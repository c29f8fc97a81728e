"""The estimate of a port: its queues, and their sum on its link."""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.parts.pcie.estimate import Cost, Estimate, Loaded
from windtunnel.parts.pcie.link import Link


@dataclass(frozen=True)
class Queue:
    """A queue of a port; `number` is None if bursts were not counted by queue and these are all of them."""

    number: int | None
    estimate: Estimate


@dataclass(frozen=True)
class PortEstimate(Loaded):
    """The queues of one port, and their sum on its link. If there is no estimate, `why_not` is the reason, and there are no queues."""

    port: str
    nic: str
    title: str
    would_be: bool
    """Whether no NIC ran, so that the estimate is what it would be on one."""
    link: Link
    queues: Sequence[Queue]
    why_not: str | None = None
    upstream: tuple[str, ...] = ()
    """What is above the NIC that ran, as `NicLink` has it; empty: no NIC ran, or it is not known."""

    @property
    def rate(self) -> Cost | None:
        """Bytes a second of all queues; None if one of them is not known."""
        rates = [rate for queue in self.queues if (rate := queue.estimate.rate) is not None]
        return sum(rates, Cost()) if self.queues and len(rates) == len(self.queues) else None

    @property
    def worded(self) -> float | None:
        parts = [worded for queue in self.queues if (worded := queue.estimate.worded) is not None]
        return sum(parts) if self.queues and len(parts) == len(self.queues) else None

    @property
    def label(self) -> str:
        """Name of the estimate, as in "estimate: would be, on generic"."""
        return f"estimate: would be, on {self.nic}" if self.would_be else f"estimate, on {self.nic}"
