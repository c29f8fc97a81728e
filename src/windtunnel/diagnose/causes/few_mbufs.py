"""Too few mbufs: stages stall because the pool of their endpoint is empty."""

from windtunnel.diagnose.causes.cause import Case, Check, room
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.engine.plan import Endpoint

TAKES = {"client": "app_tx", "server": "app_rx"}
"""The stage that takes mbufs for messages; nic_rx takes those of received packets, which a driver counts."""
MOST = 4194303


def _find(seen: Observed, limit: Limit) -> Case | None:
    for plan in seen.plans:
        for endpoint in plan.endpoints:
            if case := _of_endpoint(seen, endpoint):
                return case
    return None


def _of_endpoint(seen: Observed, endpoint: Endpoint) -> Case | None:
    stage = TAKES[endpoint.side]
    free = [pool.free for of in seen.windows.values() for w in of for pool in w.pools if pool.endpoint == endpoint.side]
    told_apart = [
        (each.stalled_calls, each.stalled_for_mbufs) for of in seen.windows.values() for w in of for each in w.stages
        if (each.endpoint, each.stage) == (endpoint.side, stage)
    ]  # fmt: skip
    stalled = [calls if for_mbufs is None else for_mbufs for calls, for_mbufs in told_apart]
    not_measured = ["for what each call stalled: the release that wrote the run counted mbufs and full rings together"]
    lacking = _of_driver(seen, endpoint.side)
    batch = int(getattr(endpoint.batch, stage))
    takes = endpoint.side == "client" or endpoint.response_mbuf == "new"
    if not (lacking or (takes and sum(stalled) and free and min(free) < batch)):
        return None
    larger = min(2 * endpoint.pool.size + 1, MOST)
    evidence = f"{endpoint.side} {stage} stalled for mbufs in {sum(stalled):,} calls"
    evidence += f", and {min(free)} of {endpoint.pool.size:,} mbufs were free at the end of a window" if free else ""
    evidence += f"; {', '.join(lacking)}" if lacking else ""
    return Case(
        evidence=evidence,
        remedy=f"a pool of {larger:,} mbufs",
        sets=[f"{endpoint.side}.mempool.size={larger}"],
        gain=room(seen),
        not_measured=not_measured if any(for_mbufs is None for _, for_mbufs in told_apart) else [],
    )


def _of_driver(seen: Observed, side: str) -> list[str]:
    """What the driver counted for want of an mbuf."""
    results = [engine.result for engine in seen.run.record.engines if engine.result]
    counted = [(result.xstats or {}).get(side, {}) for result in results]  # type: ignore[call-overload]
    return [f"{name} {count:,}" for each in counted for name, count in each.items() if "mbuf" in name and count]


CAUSE = Check("few-mbufs", "the pool runs out of mbufs", _find)
