"""The generator: the client's worker is full, and the server's is not."""

from windtunnel.parts.diagnose.cause import Case, Check, filled
from windtunnel.parts.diagnose.model import Gain, Limit
from windtunnel.parts.diagnose.observation import Observation


def _find(observation: Observation, limit: Limit) -> Case | None:
    if limit.kind != "generator":
        return None
    servers = [slack for slack in observation.slacks if slack.sides == "server"]
    free, clients = observation.free_cpus, observation.of_limit(limit)
    least = min((slack.waiting.mean for slack in servers), default=0.0)
    stages = observation.stages_of(clients[0].engine, clients[0].worker)
    stage, share = next(iter(stages.items()))
    return Case(
        evidence=f"the client's worker on CPU {clients[0].cpu} has the least slack; {stage} takes {share:.0%} of its work",
        remedy=f"a second application of the client, on CPU {free[0]}"
        if free
        else "a client on another host (run --side)",
        sets=["workload.0.client.apps=2", f"client.cores={sorted({*(s.cpu for s in clients), free[0]})}"]
        if free
        else [],
        bound=Gain(0.0, filled(least)) if servers and least < 1 else None,
        against=["the rate is the client's: what the server could do is not measured"],
    )


CAUSE = Check("generator", "the generator is slower than the data plane", _find)
