"""Few calls, each of which takes much longer than the others, although nobody else had the worker's CPU."""

from windtunnel import format as fmt
from windtunnel.finding import NotMeasured
from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.causes.handler import handlers
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.own_time import costly_stage, kernel_time, long_time, longest_calls


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next(iter(observation.of_limit(limit)), None)
    if slack is None:
        return None
    spent = long_time(observation, slack)
    if (
        not spent.is_shown
        or costly_stage(observation, slack)
        or _share_in_kernel(observation, slack) > spent.share.mean / 2
    ):
        return None
    return Case(
        evidence=f"{spent.share.mean:.0%} of the time of the worker on CPU {slack.cpu} go into long calls: "
        + describe_calls(observation, slack),
        remedy="let these calls do less at a time, or leave their work to another thread",
        reliefs=(Relief(slack, spent.ns_a_message),),
    )


def describe_calls(observation: Observation, slack: Slack) -> str:
    """The long calls of a worker, and the handler that their stage calls."""
    long = longest_calls(observation, slack)
    handler = handlers(observation).get(long.stage)
    stage = f"{long.stage}, which calls {handler}," if handler else long.stage
    return f"{fmt.percent(long.share, 2)} of the calls of {stage} take {fmt.duration(long.mean_ns)} each"


def _share_in_kernel(observation: Observation, slack: Slack) -> float:
    """0 if the record does not have it."""
    try:
        return kernel_time(observation, slack)[0].share.mean
    except NotMeasured:
        return 0.0


CAUSE = Check("rare-calls", "few calls take much of the limiting worker's time", _find)
