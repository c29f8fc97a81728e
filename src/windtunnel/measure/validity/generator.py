"""Whether the client could send its load. What it cannot send is unsent: a limit of the client, and never counted as lost.

A due message that finds the in-flight limit reached waits for a response; one that finds the port full waits for the wire. That
the data plane is too slow, or the limit too low, is what an open loop shows. A message that waits although there is room
waits for the client itself.
"""

from collections.abc import Sequence

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.measure.validity.slack import Slack, slowest
from windtunnel.runs.rows import WorkerRow
from windtunnel.runs.validity import Check, State
from windtunnel.scenario.validity_keys import Validity as Limits

STALLED = 0.05
"""Share of the client's calls in a window that found the budget or the port full: less does not explain the unsent messages."""


def checks(
    measured: Sequence[Window], plan: Plan, workers: Sequence[WorkerRow], slacks: Sequence[Slack], limits: Limits
) -> list[Check]:
    """One check for each workload that is sent at a rate; in a closed loop one of whether the client is the bottleneck. `slacks`: the
    slack of all workers of the run."""
    open_checks = []
    for index, workload in enumerate(plan.workloads):
        if workload.load is None:
            continue
        if workload.load.mode == "open":
            open_checks.append(_open(measured, index, workload.name, workers, limits))
    return open_checks or [_closed(slacks)]


def _open(measured: Sequence[Window], index: int, name: str, workers: Sequence[WorkerRow], limits: Limits) -> Check:
    parts = [w for window in measured for w in window.workloads if w.workload == index]
    offered = sum(w.offered for w in parts)
    waiting, late = 0, 0
    for window in measured:
        unsent = sum(max(w.offered - w.sent, 0) for w in window.workloads if w.workload == index)
        if _stalled(window, index):
            waiting += unsent
        else:
            late += unsent
    if not offered:
        return Check(name="generator", state="unknown", words=f"{name}: no messages were due")
    share = late / offered
    state: State = "good"
    sentence = f"the client sent all messages of {name}{_busy(workers)}"
    if share > limits.max_unsent:
        state = "bad"
        sentence = (
            f"the client is too slow for the rate of {name}: {share:.1%} of its messages are unsent{_busy(workers)}. "
            "Lower the rate, or give the client more applications and cores"
        )
    elif waiting > limits.max_unsent * offered:
        state = "warning"
        sentence = (
            f"overload: {waiting / offered:.1%} of the due messages of {name} waited for the in-flight limit or for the port. "
            "The data plane is too slow for the rate, or the limit is too low: lower the rate, or raise client.inflight"
        )
    return Check(name="generator", state=state, words=sentence, value=share, limit=limits.max_unsent, unit="share")


def _stalled(window: Window, index: int) -> bool:
    """Whether messages of the workload waited in this window for a response or for the port."""
    client = [stage for stage in window.stages if stage.endpoint == "client"]
    calls = sum(stage.calls for stage in client if stage.stage == "app_tx")
    stalled = sum(w.inflight_full for w in window.workloads if w.workload == index)
    stalled += sum(stage.stalled_calls for stage in client if stage.stage == "nic_tx")
    return stalled > STALLED * calls


def _closed(slacks: Sequence[Slack]) -> Check:
    """The check of a closed loop: the worker with the least slack sets the pace; if it is the client's, the metrics are the client's."""
    client, server = (slowest([slack for slack in slacks if slack.sides == side]) for side in ("client", "server"))
    if not client or not server:
        sentence = "the slack of one side is not known, or both share a worker"
        return Check(name="generator", state="unknown", words=sentence)
    shares = f"the client has a slack of {client[0].text}, the server of {server[0].text}"
    tied = slowest(slacks)
    sides = {slack.sides for slack in tied}
    state: State = "good"
    sentence = f"the client is not the bottleneck: {shares}"
    if not tied[0].more_than_half and "client" in sides:
        state, sentence = "unknown", f"client or server is the bottleneck, these windows cannot tell: {shares}"
        if sides == {"client"}:
            state = "warning"
            sentence = f"the client is the bottleneck: {shares}. Give the client more applications and cores: the metrics are the client's"
    return Check(name="generator", state=state, words=sentence, value=client[0].share.mean, unit="share")


def _busy_share(workers: Sequence[WorkerRow], side: str) -> float | None:
    """Work and stall of the busiest worker that only this side uses; None if there is none, or nothing was timed."""
    shares = [
        row.work_share + (row.stall_share or 0) for row in workers if row.sides == side and row.work_share is not None
    ]
    return max(shares, default=None)


def _busy(workers: Sequence[WorkerRow]) -> str:
    share = _busy_share(workers, "client")
    return "" if share is None else f", its worker busy for {share:.0%} of the time"
