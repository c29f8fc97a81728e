"""Our forwarding of packets on one core and one port, compared with testpmd's macswap."""

from collections.abc import Callable, Mapping

from harness import testpmd
from harness.results import Result
from harness.session import Session, compared
from harness.statistics import Goal
from windtunnel.engine.plan import Endpoint

GOAL = Goal(0.97, "at least", aim=1.0)
REFERENCE = "testpmd macswap"


def against_testpmd(
    session: Session,
    handler: str,
    wire: str,
    scenario: str,
    device: Callable[[Endpoint], str],
    sets: Mapping[str, str] = {},
) -> Result:
    """Packets per second of the time that the core was ours. `device`: the EAL's --vdev of the same port."""
    sets = {"server.cores": f"[{session.cpu}]", **sets}
    plan = session.plan(scenario, sets)
    rounds = session.in_turns(
        {
            handler: lambda: session.run(scenario, sets).forwarded(),
            REFERENCE: lambda: testpmd.forward(plan, device(plan.endpoints[0]), "macswap", session.seconds),
        },
        "Mpps",
        1e6,
    )
    return compared(session, f"{handler} on {wire}", rounds, handler, REFERENCE, "Mpps", 1e6, GOAL)
