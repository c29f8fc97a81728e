"""Too few messages in flight: all workers wait, because the client may send no more."""

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Gain, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import slowest

MOST = 1 << 20


def _find(seen: Observed, limit: Limit) -> Case | None:
    if limit.kind not in ("in-flight", "tie") or not seen.budget or not seen.slacks:
        return None
    least = slowest(seen.slacks)[0]
    share = least.share
    if limit.kind == "tie" and least.waits_more_than_it_works is False:
        return None  # a tie between workers
    more = min(2 ** (seen.budget * 4 - 1).bit_length(), MOST)
    if more <= seen.budget:
        return None
    grows = 100 * (more / seen.budget - 1)
    low, high = ((waits if waits is not None else share.mean) for waits in (share.low, share.high))
    return Case(
        evidence=f"the budget is {seen.budget:,} messages, and even the worker on CPU {least.cpu} waits for {share.mean:.0%} of its time",
        remedy=f"{more:,} messages in flight",
        sets=[f"{_key(seen)}={more}"],
        gain=Gain(min(grows, _filled(low)), min(grows, _filled(high))),
        against=["a link at its rate, or an open loop's client, looks the same: then nothing is gained but latency"],
    )


def _filled(share: float) -> float:
    """Percent, when the worker does not wait any more."""
    return 100 * share / (1 - share) if share < 1 else 1e6


def _key(seen: Observed) -> str:
    workloads = seen.run.record.scenario.get("workload") or []
    own = [n for n, workload in enumerate(workloads) if workload.get("inflight") is not None]
    return f"workload.{own[0]}.inflight" if own else "client.inflight"


CAUSE = Check("in-flight", "too few messages in flight", _find)
