"""Latency objectives: a percentile of a trial's messages that must not exceed a limit.

A message without a response is later than any limit. The messages of one trial wait in the same queue and are no independent sample: they
bound no percentile. What is known of one comes from trial to trial, as for loss: a share of the trials may fail, and the percentile at the
result is the median of its trials, with the interval of that.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from windtunnel.errors import UserError
from windtunnel.stats.samples import ROUNDING, enough


@dataclass(frozen=True)
class Latencies:
    """Latencies of a trial's messages. A message without a response is later than any limit."""

    ns: tuple[int, ...]
    """Ascending."""
    cumulative: tuple[int, ...]
    """Messages that took at most so long."""
    missing: int
    """Messages without a response."""

    @classmethod
    def from_counts(cls, counts: Iterable[tuple[int, int]], missing: int) -> Self:
        """`counts`: the greatest latency of a bucket in ns, ascending, and the messages in it."""
        present = [(ns, count) for ns, count in counts if count]
        return cls(tuple(ns for ns, _ in present), tuple(accumulate(count for _, count in present)), missing)

    @property
    def messages(self) -> int:
        return (self.cumulative[-1] if self.cumulative else 0) + self.missing

    def within(self, limit_ns: float) -> int:
        """Messages that took at most so long."""
        at = bisect_right(self.ns, limit_ns)
        return self.cumulative[at - 1] if at else 0

    def percentile_ns(self, share: float) -> float:
        """The least value that this share of the messages does not exceed; infinite if so many have no response, or there are too few for one
        to lie beyond it."""
        rank = self.rank(share)
        responses = self.messages - self.missing
        return math.inf if rank > responses else float(self.ns[bisect_left(self.cumulative, rank)])

    def rank(self, share: float) -> int:
        """Place, from 1, of the percentile of this share; one more than there are messages if too few would lie beyond it."""
        if not enough(self.messages, share):
            return self.messages + 1
        return max(1, math.ceil(share * self.messages - ROUNDING))


@dataclass(frozen=True)
class Objective:
    """A latency to be kept, as in "p99 at most 50 us". Raises UserError for a share that is none, and for a limit of 0 or less."""

    share: float
    """Share of the messages: 0.99 for p99."""
    limit_ns: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise UserError(f"a percentile of {self.share:g} of the messages", remedy="above 0 and below 1")
        if not 0 < self.limit_ns < math.inf:
            raise UserError(f"a latency limit of {self.limit_ns:g} ns", remedy="above 0")

    def is_met(self, latencies: Latencies) -> bool:
        return latencies.within(self.limit_ns) >= latencies.rank(self.share)

    @property
    def least_messages(self) -> int:
        """Fewest messages of a trial that can meet it: with fewer, none lies beyond the percentile."""
        return math.ceil(1 / (1 - self.share) - ROUNDING)
