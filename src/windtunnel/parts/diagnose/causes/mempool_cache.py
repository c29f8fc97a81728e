"""A pool without a cache: each mbuf that is taken or given back is one more access to the ring that all workers share."""

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.scenario.demand import CACHE_FLUSH
from windtunnel.stats.mean import Estimate

USUAL = 256
STAGES = ("app_tx", "app_rx", "nic_tx", "nic_rx")
"""Those that take mbufs, or give them back: applications, and drivers."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    workers = observation.kinds_of_limit(limit)
    without = [endpoint for plan in observation.plans for endpoint in plan.endpoints if endpoint.pool.cache == 0]
    if not workers or not without:
        return None
    sides = " and ".join(f"the {endpoint.side}'s" for endpoint in without)
    return Case(
        evidence=f"{sides} mempool has no cache: workers take mbufs from a ring that they share, and give them back there",
        remedy="a cache of mbufs for each worker",
        sets=[
            f"{endpoint.side}.mempool.cache={min(USUAL, int(endpoint.pool.size / CACHE_FLUSH))}" for endpoint in without
        ],
        reliefs=tuple(Relief(slack, _of_pool(observation, slack)) for slack in workers),
        not_measured=["what of the stages is the pool"],
    )


def _of_pool(observation: Observation, slack: Slack) -> Estimate:
    """At most all that the stages do which take mbufs and give them back."""
    account = observation.account(slack)
    most = sum(account.work(name).mean for name in account.stages if name.endswith(STAGES))
    return Estimate(most / 2, 0.0, most)


CAUSE = Check("mempool-cache", "a mempool has no cache", _find)
