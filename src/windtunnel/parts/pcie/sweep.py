"""The charts of the VTune recipe "PCIe Traffic in DPDK Apps": PCIe traffic over the packet rate, with the step at which bursts grow.

The recipe's pictures are not available. Its text says that bursts had 4 packets at 10 Mpps, that there was a second peak at 8 packets at
13 Mpps, and that Outbound Write drops where this peak appears. It does not say how many packets each peak had: here both have as many. It does not
say at which rate the peak appears either: the charts draw nothing between both rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.parts.pcie import traffic_options
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import MB, Estimate, Settings, estimate
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.nic import Nic
from windtunnel.parts.pcie.port_estimate import PortEstimate, Queue

BEFORE, AFTER = 10e6, 13e6
HIGHEST = 14.88e6
"""Packets per second of 64 bytes at 10 Gb/s."""
STEPS = 200
ONLY_FOURS = Batches.with_packets({4: 1.0})
WITH_EIGHTS = Batches.with_packets({4: 1.0, 8: 1.0})
ONLY_EIGHTS = Batches.with_packets({8: 1.0})


@dataclass(frozen=True)
class Point:
    """One rate with the bursts in which its packets came."""

    pps: float
    batches: Batches
    estimate: Estimate


@dataclass(frozen=True)
class Sweep:
    """Estimates over the packet rate. `fours` and `eights` are lines with the bursts before and after the step, over the rates at which
    each is known to apply; `table` has the recipe's two rates and the next case."""

    nic: Nic
    settings: Settings
    link: Link
    size: int
    fours: Sequence[Point]
    eights: Sequence[Point]
    table: Sequence[Point]

    def at(self, pps: float) -> Point:
        """A rate, with the bursts from the step on if it is at or above the rate at which they are known."""
        return _point(self.nic, self.settings, self.link, self.size, pps, ONLY_FOURS if pps < AFTER else WITH_EIGHTS)

    @property
    def ports(self) -> list[PortEstimate]:
        """The table's points, each in the form of a port."""
        return [
            PortEstimate(_point_text(p), self.nic.name, self.nic.nic.title, True, self.link, [Queue(0, p.estimate)])
            for p in self.table
        ]


def swept(nic: Nic, settings: Settings, link: Link, size: int) -> Sweep:
    """The sweep of a NIC. Raises UserError for settings that the NIC's rings do not support."""

    def point(pps: float, batches: Batches) -> Point:
        return _point(nic, settings, link, size, pps, batches)

    rates = [HIGHEST * step / STEPS for step in range(1, STEPS + 1)]
    return Sweep(
        nic,
        settings,
        link,
        size,
        fours=[point(r, ONLY_FOURS) for r in [*(r for r in rates if r < BEFORE), BEFORE]],
        eights=[point(r, WITH_EIGHTS) for r in [AFTER, *(r for r in rates if r > AFTER)]],
        table=[
            point(BEFORE, ONLY_FOURS),
            point(AFTER, ONLY_FOURS),
            point(AFTER, WITH_EIGHTS),
            point(AFTER, ONLY_EIGHTS),
        ],
    )


def _point(nic: Nic, settings: Settings, link: Link, size: int, pps: float, batches: Batches) -> Point:
    return Point(pps, batches, estimate(traffic_options.forwarding(pps, size, batches), nic, settings, link))


def _point_text(point: Point) -> str:
    sizes = " and ".join(str(size) for size in point.batches.bursts)
    return f"{point.pps / MB:g} Mpps in {sizes}"
