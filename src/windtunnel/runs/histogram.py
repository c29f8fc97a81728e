"""Reading the engine's histograms: merge, percentile, and the way into an HdrHistogram.

A merged histogram is the same as one that recorded everything: counters are added, nothing is averaged.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import floor

import numpy as np
from hdrh.histogram import HdrHistogram

from windtunnel.engine.histogram import MOST, Histogram
from windtunnel.errors import UserError
from windtunnel.stats.samples import enough

HDR_BITS = 11
HDR_DIGITS = 3
HDR_HIGHEST_NS = 60_000_000_000


def merge(histograms: Iterable[Histogram | None]) -> Histogram | None:
    """The histogram of all that these recorded; null if there is none. Raises ValueError if resolutions differ, and UserError beyond what the
    engine's counters can be."""
    present = [h for h in histograms if h is not None]
    if len(present) <= 1:
        return present[0] if present else None
    if len({h.bits for h in present}) > 1:
        raise ValueError("histograms of different resolution cannot be merged")
    counts: dict[int, int] = {}
    for histogram in present:
        for lowest, count in histogram.counts:
            counts[lowest] = counts.get(lowest, 0) + count
    total, summed = sum(h.total for h in present), sum(h.sum for h in present)
    if max(total, summed, *counts.values()) > MOST:
        raise UserError("histograms that together have more than 64 bits count", remedy="no engine writes such windows")
    return Histogram(
        bits=present[0].bits,
        counts=sorted(counts.items()),
        total=total,
        sum=summed,
        min=min((h.min for h in present if h.min is not None), default=None),
        max=max((h.max for h in present if h.max is not None), default=None),
    )


def highest_of_bucket(lowest: int, bits: int) -> int:
    """Highest value that shares a bucket with `lowest`."""
    shift = max(0, lowest.bit_length() - bits)
    return lowest + (1 << shift) - 1


def percentile(histogram: Histogram | None, percent: float, lost: int = 0) -> int | None:
    """The value that `percent` of the samples do not exceed: the top of its bucket, as HdrHistogram has it, and never
    above the largest sample. `lost`: samples beyond any value, as messages without a response are.

    Null if there are too few samples for one to lie beyond it (p99.9 wants 1000): it would be the maximum under
    another name; and if it is one of the lost. Raises UserError for a histogram whose buckets have fewer samples than it says.
    """
    return percentiles(histogram, (percent,), lost)[0]


def percentiles(histogram: Histogram | None, percents: Sequence[float], lost: int = 0) -> list[int | None]:
    """As `percentile`, for several in one pass over the buckets."""
    if histogram is None:
        return [None for _ in percents]
    passed = list(accumulate(count for _, count in histogram.counts))

    def value(percent: float) -> int | None:
        if histogram.total == 0 or not enough(histogram.total + lost, percent / 100):
            return None
        wanted = max(1, floor(percent * (histogram.total + lost) / 100 + 0.5))
        if wanted > histogram.total:
            return None
        bucket = bisect_left(passed, wanted)
        if bucket == len(passed):
            samples = passed[-1] if passed else 0
            raise UserError(f"a histogram of {histogram.total} samples has only {samples} in its buckets")
        top = highest_of_bucket(histogram.counts[bucket][0], histogram.bits)
        return top if histogram.max is None else min(top, histogram.max)

    return [value(percent) for percent in percents]


def to_hdr(histogram: Histogram) -> HdrHistogram:
    """The same samples in an HdrHistogram of 3 digits, whose buckets are those of `bits` = 11: nothing is lost.

    Raises ValueError for another resolution.
    """
    if histogram.bits != HDR_BITS:
        raise ValueError(f"a histogram of {histogram.bits} bits has not the buckets of {HDR_DIGITS} digits")
    hdr = HdrHistogram(1, max(HDR_HIGHEST_NS, histogram.max or 0), HDR_DIGITS)
    if histogram.total:
        # not one record_value after the other: a wide histogram has 15,000 buckets, and took 75 ms of a core that a worker wants
        values, counts = np.array(histogram.counts, dtype=np.int64).T
        bucket = np.frexp(values | (1 << HDR_BITS) - 1)[1] - HDR_BITS
        indices = (bucket << HDR_BITS - 1) + (values >> bucket)
        np.frombuffer(hdr.counts, dtype=np.int64)[indices] = counts
        hdr.set_internal_tacking_values(int(indices[0]), int(indices[-1]), int(counts.sum()))
    return hdr
