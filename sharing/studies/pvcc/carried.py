"""Whether a server carried the rate that it was offered, and what is said of rates that were not carried here.

A rate that is not carried has no percentile: the queue grows for as long as one measures, so that a number says how long that was.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pvcc.client import Counted, TargetResult
from pvcc.trials import Row
from windtunnel.api.histograms import merge, percentile

MOST_LOST = 0.01
"""Of the offered requests; whoever loses as much has no p99."""
MOST_GROWTH_NS = 10_000_000
"""Of the median latency from the first fifth of the measured time to its last one."""


class OfferedRow(Row):
    """A trial in which a rate is offered."""

    offered_per_s: int | None
    """null: a closed loop, in which the next request follows the response."""
    responses_per_s: float
    not_carried: str | None = None
    """Why the rate was not carried; null: it was. Without a percentile if not."""


R = TypeVar("R", bound=OfferedRow)


def why_not_carried(target: TargetResult, begin_ns: int, window_ns: int) -> str | None:
    """Why the rate of the phase `measure`, which begins after `begin_ns`, was not carried; None: it was."""
    phase = target.phase("measure")
    lost = phase.offered - phase.right
    if lost > MOST_LOST * phase.offered:
        return f"{lost / phase.offered:.0%} of the requests had no response"
    windows = target.windows[begin_ns // window_ns : (begin_ns + phase.duration_ns) // window_ns]
    fifth = max(1, len(windows) // 5)
    first, last = _median_ns(windows[:fifth]), _median_ns(windows[-fifth:])
    if first is not None and last is not None and last - first > MOST_GROWTH_NS:
        return f"the median latency grew by {(last - first) / 1e6:.0f} ms meanwhile"
    return None


def _median_ns(windows: Sequence[Counted]) -> int | None:
    return percentile(merge(window.latency for window in windows), 50) if windows else None


def carried(rows: Sequence[R]) -> list[R]:
    """The rows of the arms of which every trial that counts was carried: what is left of the others would be chosen by its result."""
    short = {row.arm for row in rows if row.not_carried and row.excluded is None}
    return [row for row in rows if row.arm not in short]


def rates_not_carried(rows: Sequence[R], group: Callable[[R], str]) -> list[str]:
    """For each group of rows a sentence with the rates that were not carried, and the most that was served; none if all were."""
    counted = [row for row in rows if row.excluded is None]
    sentences = []
    for name in dict.fromkeys(map(group, counted)):
        of = [row for row in counted if group(row) == name]
        rates = sorted({row.offered_per_s for row in of if row.not_carried and row.offered_per_s})
        if rates:
            listed = ", ".join(f"{rate:,}" for rate in rates)
            most = max(row.responses_per_s for row in of)
            sentences.append(f"not carried here: {name} at {listed} requests a second; at most {most:,.0f} were served")
    return sentences
