"""Latency objectives: a percentile of a trial's messages that must not exceed a limit.

A trial has a sample of latencies, not their distribution. An objective is met if an upper bound of the percentile is within the
limit: the order statistic that the percentile exceeds with a chance of at most 1 - CONFIDENCE, by the binomial distribution
(H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1). Nothing is assumed of the distribution.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Self

from windtunnel.errors import UserError

CONFIDENCE = 0.95
"""Confidence of an upper bound, one-sided."""


@dataclass(frozen=True)
class Latencies:
    """Latencies of a trial's messages. A message without a response is later than any limit."""

    ns: tuple[int, ...]
    """Ascending."""
    seen: tuple[int, ...]
    """Messages that took at most so long."""
    missing: int
    """Messages without a response."""

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int]], missing: int) -> Self:
        """`counts`: the greatest latency of a bucket in ns, ascending, and the messages in it."""
        present = [(ns, count) for ns, count in counts if count]
        return cls(tuple(ns for ns, _ in present), tuple(accumulate(count for _, count in present)), missing)

    @property
    def messages(self) -> int:
        return (self.seen[-1] if self.seen else 0) + self.missing

    def within(self, limit_ns: float) -> int:
        """Messages that took at most so long."""
        at = bisect_right(self.ns, limit_ns)
        return self.seen[at - 1] if at else 0

    def upper_bound_ns(self, share: float) -> float:
        """The value that the percentile of this share does not exceed, with a confidence of CONFIDENCE; infinite if there are too
        few messages to bound it, or too many have no response."""
        rank = upper_rank(self.messages, share)
        responses = self.messages - self.missing
        return math.inf if rank > responses else float(self.ns[bisect_left(self.seen, rank)])


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
        return latencies.within(self.limit_ns) >= upper_rank(latencies.messages, self.share)

    @property
    def least_messages(self) -> int:
        """Fewest messages of a trial that can meet it: with fewer, not even the largest value bounds the percentile."""
        return math.ceil(math.log(1 - CONFIDENCE) / math.log(self.share))


@lru_cache(maxsize=4096)
def upper_rank(messages: int, share: float) -> int:
    """Place, from 1, of the least value of so many that is an upper bound of the percentile; `messages` + 1 if none is."""
    # half a second to import, so only searches for a latency do
    from scipy.stats import binom

    return int(binom.ppf(CONFIDENCE, messages, share)) + 1 if messages else 1
