"""Too few mbufs: stages stall because the pool of their endpoint is empty."""

from windtunnel.engine.plan import Endpoint
from windtunnel.parts.diagnose.cause import Case, Check, room
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation

TAKES = {"client": "app_tx", "server": "app_rx"}
"""The stage that takes mbufs for messages; nic_rx takes those of received packets, which a driver counts."""
MOST = 4194303


def _find(observation: Observation, limit: Limit) -> Case | None:
    for plan in observation.plans:
        for endpoint in plan.endpoints:
            if case := _case_of_endpoint(observation, endpoint):
                return case
    return None


def _case_of_endpoint(observation: Observation, endpoint: Endpoint) -> Case | None:
    stage = TAKES[endpoint.side]
    free = [
        pool.free
        for windows in observation.windows.values()
        for window in windows
        for pool in window.pools
        if pool.endpoint == endpoint.side
    ]
    calls_and_for_mbufs = [
        (row.stalled_calls, row.stalled_for_mbufs) for windows in observation.windows.values() for window in windows for row in window.stages
        if (row.endpoint, row.stage) == (endpoint.side, stage)
    ]  # fmt: skip
    stalled = [calls if for_mbufs is None else for_mbufs for calls, for_mbufs in calls_and_for_mbufs]
    not_measured = ["for what each call stalled: the release that wrote the run counted mbufs and full rings together"]
    driver_counts = _counts_of_driver(observation, endpoint.side)
    batch = int(getattr(endpoint.batch, stage))
    takes = endpoint.side == "client" or endpoint.response_mbuf == "new"
    if not (driver_counts or (takes and sum(stalled) and free and min(free) < batch)):
        return None
    larger = min(2 * endpoint.pool.size + 1, MOST)
    evidence = f"{endpoint.side} {stage} stalled for mbufs in {sum(stalled):,} calls"
    evidence += f", and {min(free)} of {endpoint.pool.size:,} mbufs were free at the end of a window" if free else ""
    evidence += f"; {', '.join(driver_counts)}" if driver_counts else ""
    return Case(
        evidence=evidence,
        remedy=f"a pool of {larger:,} mbufs",
        sets=[f"{endpoint.side}.mempool.size={larger}"],
        bound=room(observation),
        not_measured=not_measured if any(for_mbufs is None for _, for_mbufs in calls_and_for_mbufs) else [],
    )


def _counts_of_driver(observation: Observation, side: str) -> list[str]:
    """The driver's counters of packets without an mbuf."""
    results = [engine.result for engine in observation.run.record.engines if engine.result]
    xstats_of_engines = [(result.xstats or {}).get(side, {}) for result in results]  # type: ignore[call-overload]
    return [
        f"{name} {count:,}"
        for xstats in xstats_of_engines
        for name, count in xstats.items()
        if "mbuf" in name and count
    ]


CAUSE = Check("few-mbufs", "the pool runs out of mbufs", _find)
