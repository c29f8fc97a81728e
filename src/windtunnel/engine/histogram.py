"""Histograms as the engine's lines have them. `windtunnel.runs.histogram` computes with them."""

from windtunnel.engine.line_model import Line


class Histogram(Line):
    """Log-linear histogram: values below 2**bits are exact, above that each power of two has 2**(bits-1) buckets.

    `counts` holds [lowest value of the bucket, count] for the buckets that are not empty, ascending. With bits = 11 the
    buckets are those of an HdrHistogram of 3 significant digits.
    """

    bits: int
    counts: list[tuple[int, int]]
    total: int
    sum: int
    min: int | None
    max: int | None
