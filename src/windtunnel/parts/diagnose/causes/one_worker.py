"""One worker carries what two could: application and dispatcher, or client and server, and a CPU is free."""

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check
from windtunnel.parts.diagnose.model import Gain, Limit
from windtunnel.parts.diagnose.observation import Observation

APPLICATION = ("app_tx", "app_rx")


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack, free = next(iter(observation.of_limit(limit)), None), observation.free_cpus
    if slack is None or not free:
        return None
    work = {
        name: observation.account(slack).work(name).mean for name in observation.stages_of(slack.engine, slack.worker)
    }
    if slack.sides == "client + server":
        return _two_sides(observation, slack, work, free[0])
    return _two_roles(observation, slack, work, free[0])


def _two_sides(observation: Observation, slack: Slack, work: dict[str, float], free: int) -> Case | None:
    if len(observation.slacks) != 1:
        return None  # which CPUs each side should have is a question of its own
    client, server = (sum(ns for name, ns in work.items() if name.startswith(side)) for side in ("client", "server"))
    return Case(
        evidence=f"its client takes {client:.1f} ns per message, its server {server:.1f} ns; CPU {free} is free",
        remedy=f"client and server on two workers, the client on CPU {free}",
        sets=[f"client.cores=[{free}]", f"server.cores=[{slack.cpu}]"],
        not_measured=["what a wire between two CPUs costs, which may be more than is gained: --try runs it"],
    )


def _two_roles(observation: Observation, slack: Slack, work: dict[str, float], free: int) -> Case | None:
    application = sum(ns for name, ns in work.items() if name.split()[1] in APPLICATION)
    dispatcher = sum(work.values()) - application
    plan = observation.engine(slack.engine).plan
    if not application or not dispatcher or len(plan.workloads) != 1:
        return None
    cpus = sorted(worker.cpu for worker in plan.workers if _side(observation, slack, worker.stages[0].endpoint))
    key = "workload.0.colocate" if slack.sides == "server" else "workload.0.client.colocate"
    return Case(
        evidence=f"its application takes {application:.1f} ns per message, its dispatcher {dispatcher:.1f} ns; CPU {free} is free",
        remedy=f"application and dispatcher on two workers, the second one on CPU {free}",
        sets=[f"{key}=false", f"{slack.sides}.cores={[*cpus, free]}"],
        bound=Gain(0.0, _most(observation, slack, max(application, dispatcher))),
        not_measured=["what a ring between two CPUs costs"],
    )


def _side(observation: Observation, slack: Slack, endpoint: int) -> bool:
    return observation.engine(slack.engine).plan.endpoints[endpoint].side == slack.sides


def _most(observation: Observation, slack: Slack, part_ns: float) -> float:
    """Percent, if the way between the two cost nothing: until the larger part, or the next worker, is full."""
    now = observation.ns_a_message
    others = [now * (1 - other.share.mean) for other in observation.slacks if other is not slack]
    return max(0.0, 100 * (now / max(part_ns, *others, 0.0) - 1))


CAUSE = Check("one-worker", "one worker carries what two could", _find)
