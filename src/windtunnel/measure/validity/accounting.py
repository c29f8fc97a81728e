"""Whether the stages' times cover what the stages did. Calls above `interrupted_above` are in none of them."""

from collections.abc import Sequence

from windtunnel.runs.rows import WorkerRow
from windtunnel.runs.validity import Check, State
from windtunnel.scenario.quantities import write

MOST_INTERRUPTED = 0.2
"""Share of a worker's timed calls, preemption taken off: on a host that is that busy windows are excluded anyway."""


def interrupted_check(workers: Sequence[WorkerRow], interrupted_above_ns: int) -> Check:
    """A warning if so much time went into long calls that they must be the handler's own, and no interruptions."""
    shares = {
        row.cpu: row.interrupted_share - (row.preempted_share or 0)
        for row in workers
        if row.interrupted_share is not None
    }
    if not shares:
        return Check(name="accounting", state="unknown", words="no calls were timed")
    cpu, share = max(shares.items(), key=lambda item: item[1])
    state: State = "good"
    sentence = "the stages' times cover nearly all timed calls"
    if share > MOST_INTERRUPTED:
        state = "warning"
        sentence = (
            f"{share:.0%} of the time of the worker on CPU {cpu} is in calls above accounting.interrupted_above "
            f"({write('duration', interrupted_above_ns)}) without preemption: no stage's time includes them. "
            "Set it above the longest batch of the handler"
        )
    return Check(
        name="accounting", state=state, words=sentence, value=max(share, 0.0), limit=MOST_INTERRUPTED, unit="share"
    )
