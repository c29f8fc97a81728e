"""The numbers of packets in bursts, and their two averages."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Batches:
    """Packets per burst -> bursts. Bursts without a packet are left out, because they write no doorbell."""

    bursts: Mapping[float, float]
    mean_only: bool = False
    """Only the mean is known: one size stands for bursts of several sizes."""

    @classmethod
    def of(cls, histogram: Mapping[int, float]) -> "Batches":
        return cls({size: n for size, n in sorted(histogram.items()) if size and n})

    @classmethod
    def with_packets(cls, packets: Mapping[int, float]) -> "Batches":
        """Makes batches from the packets that came in bursts of each size, for instance as many in fours as in eights."""
        return cls.of({size: n / size for size, n in packets.items()})

    @classmethod
    def of_mean(cls, packets: float, bursts: float) -> "Batches":
        """Makes batches from bursts that were not counted by their size."""
        return cls({packets / bursts: bursts} if packets and bursts else {}, mean_only=True)

    @property
    def packets(self) -> float:
        return sum(size * n for size, n in self.bursts.items())

    @property
    def exact(self) -> float | None:
        """Packets / bursts, which determines the number of doorbells. None: no burst."""
        return self.packets / sum(self.bursts.values()) if self.bursts else None

    @property
    def worded(self) -> float | None:
        """The average burst that a packet is part of, sum b p / sum p, as the text of the VTune recipe defines it. It is never below `exact`: if bursts
        differ, it gives too few doorbells. None if only the mean is known."""
        if not self.bursts or self.mean_only:
            return None
        return sum(size * size * n for size, n in self.bursts.items()) / self.packets

    def doorbells(self, at_most: int) -> float | None:
        """Doorbells a packet: one a burst, or one for every `at_most` packets of a burst (0: no such limit)."""
        if not self.bursts:
            return None
        rings = sum(n * (ceil(size / at_most) if at_most else 1) for size, n in self.bursts.items())
        return rings / self.packets
