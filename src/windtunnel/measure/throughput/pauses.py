"""Loss and latency that are the host's: a worker had no CPU for longer than the queue in front of the data plane lasts, or than the
latency that is allowed.

What falls due while the client has no CPU leaves it in one burst afterwards. What arrives while a worker of the server has none waits.
Either overflows a queue that the data plane does not fill at that load. It is the host's as long as no more messages were affected than
such pauses delayed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.engine.plan import Plan
from windtunnel.engine.windows import Window
from windtunnel.format import duration
from windtunnel.measure.search import Latencies, Objective
from windtunnel.runs import Run
from windtunnel.runs.histogram import highest_of_bucket, merge

RARELY = 0.1
"""Share of the messages that may leave the client delayed: with more, the client waits for the data plane."""
NOTICEABLE = 0.1
"""Part of the tolerated pause from which a message counts as delayed: shorter bursts fill little of a queue."""


@dataclass(frozen=True)
class Pause:
    who: str
    longest_ns: int
    messages: int
    """Most messages that all pauses delayed."""


def loss_by_pauses(run: Run, load: float, lost: int) -> str | None:
    """Why the `lost` messages are the host's loss, in words; None if they are not, or there are none. `load`: messages per second."""
    queue = min(queue_in_front(engine.plan) for engine in run.record.engines)
    lasts_ns = queue / load * 1e9
    pause = _longest(run, load, lasts_ns, lost)
    return pause and (
        f"{pause}; the queue of {queue} packets in front of the data plane lasts {duration(lasts_ns)} at this load; {lost:,} messages lost"
    )


def delay_by_pauses(run: Run, load: float, objective: Objective, latencies: Latencies) -> str | None:
    """Why the host alone keeps a trial from its latency objective, in words; None if it does not, or the objective is met."""
    if objective.is_met(latencies):
        return None
    beyond = latencies.messages - latencies.within(objective.limit_ns)
    pause = _longest(run, load, objective.limit_ns, beyond)
    return pause and f"{pause}; {beyond:,} messages took longer than {duration(objective.limit_ns)}"


def _longest(run: Run, load: float, tolerated_ns: float, affected: int) -> str | None:
    """The longest pause, in words, if it is longer than is tolerated and pauses delayed as many messages as were affected."""
    pauses = [
        pause
        for engine in run.record.engines
        for pause in _pauses(engine.plan, run.windows[engine.name], load, tolerated_ns)
    ]
    longest = max(pauses, key=lambda pause: pause.longest_ns, default=None)
    if not affected or longest is None or longest.longest_ns <= tolerated_ns:
        return None
    if affected > sum(pause.messages for pause in pauses):
        return None
    return f"pause: {longest.who} had no CPU for {duration(longest.longest_ns)}"


def queue_in_front(plan: Plan) -> int:
    """Packets in the shortest queue that drops what it has no room for: of an emulated link, or a port's descriptors."""
    ports = [endpoint.port for endpoint in plan.endpoints]
    links = [port.link.queue for port in ports if port.link and port.link.bits_per_s]
    return min(links + [port.rx_descriptors for port in ports])


def _pauses(plan: Plan, windows: list[Window], load: float, tolerated_ns: float) -> Iterator[Pause]:
    measured = [window for window in windows if window.phase == "measure"]
    yield from _of_client(measured, tolerated_ns)
    latency = merge(workload.latency for window in measured for workload in window.workloads)
    for number, worker in enumerate(plan.workers):
        if all(plan.endpoints[stage.endpoint].side == "client" for stage in worker.stages):
            continue
        of_worker = [each for window in measured for each in window.workers if each.worker == number]
        ns = sum((each.preempted_ns or 0) + each.steal_ns for each in of_worker)
        # a message that waits for the worker waits as long as the pause
        longest_ns = ns if latency is None or latency.max is None else min(ns, latency.max)
        yield Pause(f"the worker on CPU {worker.cpu}", longest_ns, round(load * ns / 1e9))


def _of_client(measured: list[Window], tolerated_ns: float) -> Iterator[Pause]:
    """Pauses of the client, from its pacing: what is due while it has no CPU leaves it afterwards."""
    pacing = merge(workload.pacing for window in measured for workload in window.workloads)
    if pacing is None or pacing.max is None:
        return
    delayed = sum(
        n for lowest, n in pacing.counts if highest_of_bucket(lowest, pacing.bits) > NOTICEABLE * tolerated_ns
    )
    if delayed <= RARELY * pacing.total:
        yield Pause("the client", pacing.max, delayed)
