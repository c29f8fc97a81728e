"""Too few messages in flight: all workers have slack, because the client may send no more."""

from windtunnel.measure.validity import slowest
from windtunnel.parts.diagnose.cause import Case, Check, filled
from windtunnel.parts.diagnose.model import Gain, Limit
from windtunnel.parts.diagnose.observation import Observation

MOST = 1 << 20


def _find(observation: Observation, limit: Limit) -> Case | None:
    if (
        limit.kind not in ("in-flight", "tie", "worker", "generator")
        or not observation.budget
        or not observation.slacks
    ):
        return None
    least = slowest(observation.slacks)[0]
    share = least.share
    if limit.kind != "in-flight" and (observation.is_open_loop or not least.is_known):
        return None  # a worker is full
    if not observation.budget_is_reached or observation.places_of_lost > observation.budget / 2:
        return None  # something else keeps messages back: mbufs, or places that lost messages hold
    larger = more(observation.budget)
    if larger is None:
        return None
    grows = 100 * (larger / observation.budget - 1)
    high = share.mean if share.high is None else share.high
    return Case(
        evidence=f"the in-flight limit is {observation.budget:,} messages, and even the worker on CPU {least.cpu} has a slack of {share.mean:.0%}",
        remedy=f"{larger:,} messages in flight",
        sets=[f"{_key(observation)}={larger}"],
        bound=Gain(0.0, min(grows, filled(high))),
        against=["a link at its rate, or an open loop's client, looks the same: then nothing is gained but latency"],
    )


def more(budget: int) -> int | None:
    """At least twice the budget; None if that is more than an engine takes. Many more at once would overrun a queue on the way, and then
    losses hold places for as long as a timeout."""
    larger = 2 ** (budget * 2 - 1).bit_length()
    return larger if budget and larger <= MOST else None


def _key(observation: Observation) -> str:
    workloads = observation.run.record.scenario.get("workload") or []
    own = [n for n, workload in enumerate(workloads) if workload.get("inflight") is not None]
    return f"workload.{own[0]}.inflight" if own else "client.inflight"


CAUSE = Check("in-flight", "too few messages in flight", _find)
