"""Loss that is the host's: a worker had no CPU for longer than the queue in front of the data plane lasts.

What falls due while the client has no CPU leaves it in one burst. What arrives while a server's worker has none waits. Either
overflows a queue that the data plane never fills at that load. The loss tells of the host as long as there is no more of it than
messages that the stalls delayed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.format import duration
from windtunnel.runs import Run
from windtunnel.runs.histogram import highest_of_bucket, merge

RARELY = 0.1
"""Share of the messages that may leave the client late: with more the client waits for the data plane, and was not stalled."""
NOTICEABLE = 0.1
"""Part of the queue's time from which a message is late: bursts that are shorter fill little of it."""


@dataclass(frozen=True)
class Stall:
    where: str
    ns: int
    messages: int
    """That it delayed, at most."""


def loss_by_stalls(run: Run, load: float, missing: int) -> str | None:
    """Why the `missing` messages are the host's loss, in words; None where there are none, or they are not. `load`: messages a second."""
    if not missing:
        return None
    queue = min(queue_in_front(engine.plan) for engine in run.record.engines)
    lasts_ns = queue / load * 1e9
    stalls = [
        stall
        for engine in run.record.engines
        for stall in _stalls(engine.plan, run.windows[engine.name], load, lasts_ns)
    ]
    longest = max(stalls, key=lambda stall: stall.ns, default=None)
    if longest is None or longest.ns <= lasts_ns or missing > sum(stall.messages for stall in stalls):
        return None
    return (
        f"host stall: {longest.where} had no CPU for {duration(longest.ns)}, and a queue of {queue} packets lasts {duration(lasts_ns)} "
        f"at this load; {missing:,} messages without a response"
    )


def queue_in_front(plan: Plan) -> int:
    """Packets that the shortest queue holds which drops what it cannot take: an emulated link's, or a port's descriptors."""
    ports = [endpoint.port for endpoint in plan.endpoints]
    links = [port.link.queue for port in ports if port.link and port.link.bits_per_s]
    return min(links + [port.rx_descriptors for port in ports])


def _stalls(plan: Plan, windows: list[Window], load: float, lasts_ns: float) -> Iterator[Stall]:
    measured = [window for window in windows if window.phase == "measure"]
    yield from _of_client(measured, lasts_ns)
    servers = {n for n, worker in enumerate(plan.workers) if any(_is_server(plan, s.endpoint) for s in worker.stages)}
    for number in servers:
        workers = [worker for window in measured for worker in window.workers if worker.worker == number]
        ns = sum((worker.preempted_ns or 0) + worker.steal_ns for worker in workers)
        yield Stall(f"the worker on CPU {workers[0].cpu}" if workers else "", ns, round(load * ns / 1e9))


def _of_client(measured: list[Window], lasts_ns: float) -> Iterator[Stall]:
    """From its pacing: a message that is due while the client has no CPU leaves it late."""
    pacing = merge(workload.pacing for window in measured for workload in window.workloads)
    if pacing is None or pacing.max is None:
        return
    late = sum(n for lowest, n in pacing.counts if highest_of_bucket(lowest, pacing.bits) > NOTICEABLE * lasts_ns)
    if late <= RARELY * pacing.total:
        yield Stall("the client", pacing.max, late)


def _is_server(plan: Plan, endpoint: int) -> bool:
    return plan.endpoints[endpoint].side == "server"
