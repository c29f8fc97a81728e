"""Whether the stages' times have in them what the stages did. Calls above `interrupted_above` are in none of them."""

from collections.abc import Sequence

from windtunnel.runs import format as fmt
from windtunnel.runs.rows import WorkerRow
from windtunnel.runs.validity import Check

MOST_INTERRUPTED = 0.2
"""Of a worker's timed calls that nobody took it from: on a host that is that busy the windows are marked."""


def interrupted_check(workers: Sequence[WorkerRow], interrupted_above_ns: int) -> Check:
    """A warning where so much time went into long calls that they are the handler's own, and no interruptions."""
    shares = {
        row.cpu: row.interrupted_share - (row.preempted_share or 0)
        for row in workers
        if row.interrupted_share is not None
    }
    if not shares:
        return Check(name="accounting", state="unknown", words="no calls were timed")
    cpu, share = max(shares.items(), key=lambda one: one[1])
    about = {"value": max(share, 0.0), "limit": MOST_INTERRUPTED, "unit": "share"}
    if share <= MOST_INTERRUPTED:
        return Check(name="accounting", state="good", words="the stages' times hold nearly all that was timed", **about)
    words = (
        f"{share:.0%} of what the worker on CPU {cpu} did lies in calls above accounting.interrupted_above "
        f"({fmt.duration(interrupted_above_ns)}), and nobody took the core: they are in no stage's time. Put it above the longest batch of the handler"
    )
    return Check(name="accounting", state="warning", words=words, **about)
