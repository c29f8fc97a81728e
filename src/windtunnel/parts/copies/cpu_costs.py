"""What the CPU would have paid for the copies that a copier made, by what was measured before the run."""

from bisect import bisect_right

from windtunnel.engine.histogram import Histogram
from windtunnel.parts.copies.ledger import CpuCopies


def cpu_cycles(measured: CpuCopies | None, sizes: Histogram | None) -> float | None:
    """TSC cycles of a copy by the CPU, the mean over copies of these sizes. None: nothing was measured, or nothing was copied.

    Sizes are within 6.25%, the buckets of a histogram, and moved by what their mean is off. Between two measured sizes the cost lies
    on a straight line."""
    if measured is None or sizes is None or not sizes.total:
        return None
    off = sizes.sum / sum(lowest * count for lowest, count in sizes.counts)
    return sum(_cycles_of(measured, lowest * off) * count for lowest, count in sizes.counts) / sizes.total


def _cycles_of(measured: CpuCopies, size: float) -> float:
    """Beyond the measured sizes: as of the nearest one."""
    known = measured.costs
    above = bisect_right(known, size, key=lambda cost: cost.bytes)
    if above in (0, len(known)):
        return known[min(above, len(known) - 1)].cycles
    low, high = known[above - 1], known[above]
    return low.cycles + (high.cycles - low.cycles) * (size - low.bytes) / (high.bytes - low.bytes)
