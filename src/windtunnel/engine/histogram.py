"""Histograms as the engine's lines have them. `windtunnel.runs.histogram` computes with them."""

from typing import Annotated

from pydantic import Field

from windtunnel.engine.line_model import Line

MOST = (1 << 64) - 1
Unsigned = Annotated[int, Field(ge=0, le=MOST)]
"""What the engine's counters and times can be: shifts and arrays of a larger number take all memory there is."""


class Histogram(Line):
    """Log-linear histogram: values below 2**bits are exact, above that each power of two has 2**(bits-1) buckets.

    `counts` holds [lowest value of the bucket, count] for the buckets that are not empty, ascending. With bits = 11 the
    buckets are those of an HdrHistogram of 3 significant digits.
    """

    bits: Annotated[int, Field(ge=1, le=64)]
    counts: list[tuple[Unsigned, Unsigned]]
    total: Unsigned
    sum: Unsigned
    min: Annotated[int | None, Field(ge=0, le=MOST)]
    max: Annotated[int | None, Field(ge=0, le=MOST)]
