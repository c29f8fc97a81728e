"""The working set: what a handler reads and writes is larger than the cache of its worker's core."""

from collections.abc import Iterator

from windtunnel import format as fmt
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.own_time import costly_stage
from windtunnel.stats.mean import Estimate

LEVEL = 2
"""Of the cache that a core has for itself."""
LINE = 64
STAGE = "server app_rx"


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next((slack for slack in observation.of_limit(limit) if "server" in slack.sides), None)
    cache = next((c["bytes"] for c in observation.run.record.host.get("caches") or [] if c["level"] == LEVEL), None)
    if slack is None or cache is None:
        return None
    larger = dict(_larger_than(cache, observation))
    account = observation.account(slack)
    stage, work = costly_stage(observation, slack) or (STAGE, account.work(STAGE))
    if not larger or stage != STAGE or not work.mean:
        return None
    # whether it counts bytes or entries of a line each, so many of them fit
    small = cache // LINE
    return Case(
        evidence=f"{' and '.join(f'{key} is {value:,}' for key, value in larger.items())}, and a core's own cache has {fmt.size(cache)}; "
        f"{STAGE} takes {work.mean:.1f} ns per message",
        remedy="a smaller or denser state of the handler, or one that is prefetched: the gain is that of one that fits the cache",
        sets=[f"{key}={small}" for key in larger],
        reliefs=(Relief(slack, Estimate(work.mean / 2, 0.0, work.high or work.mean)),),
        not_measured=["how much of it a message touches. --probe tries a state that fits"],
    )


def _larger_than(cache: int, observation: Observation) -> Iterator[tuple[str, int]]:
    """The handlers' options, bytes or entries, whose numbers are larger."""
    for plan in observation.plans:
        for n, workload in enumerate(plan.workloads):
            for name, value in (workload.handler.options if workload.handler else {}).items():
                if value.isdecimal() and int(value) > cache:
                    yield f"workload.{n}.options.{name}", int(value)


CAUSE = Check("working-set", "the handler's state does not fit the cache", _find)
