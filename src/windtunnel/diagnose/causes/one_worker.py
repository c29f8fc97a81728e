"""One worker carries application and dispatcher, and a CPU is free."""

from windtunnel.diagnose.causes.cause import Case, Check
from windtunnel.diagnose.model import Gain, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.measure.validity import Slack

APPLICATION = ("app_tx", "app_rx")


def _find(seen: Observed, limit: Limit) -> Case | None:
    slack = next((slack for slack in seen.of_limit(limit) if slack.sides in ("client", "server")), None)
    if slack is None:
        return None
    work = {name: seen.account(slack).work(name).mean for name in seen.stages_of(slack.engine, slack.worker)}
    application = sum(ns for name, ns in work.items() if name.split()[1] in APPLICATION)
    dispatcher = sum(work.values()) - application
    if not application or not dispatcher:
        return None
    free = seen.free_cpus
    plan = seen.engine(slack.engine).plan
    if not free or len(plan.workloads) != 1:
        return None
    cpus = sorted(worker.cpu for worker in plan.workers if _side(seen, slack, worker.stages[0].endpoint))
    key = "workload.0.colocate" if slack.sides == "server" else "workload.0.client.colocate"
    return Case(
        evidence=f"its application takes {application:.1f} ns a message, its dispatcher {dispatcher:.1f} ns; CPU {free[0]} is free",
        remedy=f"application and dispatcher on two workers, the second one on CPU {free[0]}",
        sets=[f"{key}=false", f"{slack.sides}.cores={[*cpus, free[0]]}"],
        gain=Gain(0.0, _most(seen, slack, max(application, dispatcher))),
        untold=["what a ring between two CPUs costs"],
    )


def _side(seen: Observed, slack: Slack, endpoint: int) -> bool:
    return seen.engine(slack.engine).plan.endpoints[endpoint].side == slack.sides


def _most(seen: Observed, slack: Slack, part_ns: float) -> float:
    """Percent, if the ring cost nothing: until the larger part, or the next worker, is full."""
    now = seen.ns_a_message
    others = [now * (1 - other.share.mean) for other in seen.slacks if other is not slack]
    return max(0.0, 100 * (now / max(part_ns, *others, 0.0) - 1))


CAUSE = Check("one-worker", "one worker carries application and dispatcher", _find)
