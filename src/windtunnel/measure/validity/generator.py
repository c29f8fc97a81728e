"""Whether the client could offer what it was to offer. What it cannot send is unsent: its own fault, and never a loss.

A message that is due and finds the whole budget in flight waits for an answer, one that finds the port full for the wire: that
the data plane is too slow, or the budget too small, is what an open loop is there to show. One that waits though there is room
waits for the client itself.
"""

from collections.abc import Sequence

from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.runs.rows import WorkerRow
from windtunnel.runs.validity import Check
from windtunnel.scenario.validity_keys import Validity as Limits

HELD_UP = 0.05
"""Of the client's calls in a window that found no place or no port: less does not explain what stayed unsent."""
BUSY = 0.95
"""Of a worker's time without a pause."""


def checks(measured: Sequence[Window], plan: Plan, workers: Sequence[WorkerRow], limits: Limits) -> list[Check]:
    """One check for each workload that is sent at a rate, and one of the client's share in a closed loop's figures."""
    found = []
    for index, workload in enumerate(plan.workloads):
        if workload.load is None:
            continue
        if workload.load.mode == "open":
            found.append(_open(measured, index, workload.name, workers, limits))
    return found or [_closed(workers)]


def _open(measured: Sequence[Window], index: int, name: str, workers: Sequence[WorkerRow], limits: Limits) -> Check:
    seen = [w for window in measured for w in window.workloads if w.workload == index]
    offered = sum(w.offered for w in seen)
    waiting, late = 0, 0
    for window in measured:
        unsent = sum(max(w.offered - w.sent, 0) for w in window.workloads if w.workload == index)
        if _held_up(window, index):
            waiting += unsent
        else:
            late += unsent
    if not offered:
        return Check(name="generator", state="unknown", words=f"{name} offered nothing")
    share, about = late / offered, {"value": late / offered, "limit": limits.unsent, "unit": "share"}
    if share > limits.unsent:
        words = (
            f"the client is too slow for {name}'s rate: {share:.1%} of its messages stayed unsent{_busy(workers)}; "
            "they are no loss. A lower rate, or more applications and cores for the client"
        )
        return Check(name="generator", state="bad", words=words, **about)
    if waiting > limits.unsent * offered:
        words = (
            f"overloaded: {waiting / offered:.1%} of {name}'s messages fell due and found the whole budget in flight, or the port "
            "full: the data plane is too slow for the rate, or client.inflight is too small"
        )
        return Check(name="generator", state="warning", words=words, **about)
    return Check(name="generator", state="good", words=f"the client sent what {name} offered{_busy(workers)}", **about)


def _held_up(window: Window, index: int) -> bool:
    """Whether it was for want of an answer or of the port that messages of the workload waited in this window."""
    client = [stage for stage in window.stages if stage.endpoint == "client"]
    calls = sum(stage.calls for stage in client if stage.stage == "app_tx")
    held = sum(w.no_place for w in window.workloads if w.workload == index)
    held += sum(stage.stalled_calls for stage in client if stage.stage == "nic_tx")
    return held > HELD_UP * calls


def _closed(workers: Sequence[WorkerRow]) -> Check:
    """In a closed loop the slower side sets the pace; where that is the client, the figures are the client's."""
    busy = {side: _busy_share(workers, side) for side in ("client", "server")}
    client, server = busy["client"], busy["server"]
    if client is None or server is None:
        return Check(name="generator", state="unknown", words="one side's cores are not known, or both share them")
    if client > BUSY and server < client - 0.1:
        words = f"the client is the bottleneck: busy for {client:.0%} of its time, the server for {server:.0%}"
        return Check(name="generator", state="warning", words=words, value=client, unit="share")
    return Check(name="generator", state="good", words="the client is not the bottleneck", value=client, unit="share")


def _busy_share(workers: Sequence[WorkerRow], side: str) -> float | None:
    """Work and stall of the busiest worker that is this side's alone; None where there is none, or nothing was timed."""
    shares = [
        row.work_share + (row.stall_share or 0) for row in workers if row.sides == side and row.work_share is not None
    ]
    return max(shares, default=None)


def _busy(workers: Sequence[WorkerRow]) -> str:
    share = _busy_share(workers, "client")
    return "" if share is None else f", its worker busy for {share:.0%} of the time"
