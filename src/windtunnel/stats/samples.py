"""How many samples a percentile takes."""

ROUNDING = 1e-6
"""Part of a sample that shares such as 0.99 may be off by."""


def enough(samples: int, share: float) -> bool:
    """Whether one of so many samples lies beyond the percentile of this share, as 100 have one beyond p99: with fewer it would be the maximum
    under another name."""
    return samples * (1 - share) >= 1 - ROUNDING
