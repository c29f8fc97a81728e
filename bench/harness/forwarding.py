"""Our forwarding of packets on one core and one port, compared with testpmd's macswap."""

from collections.abc import Callable, Mapping, Sequence

from harness import testpmd
from harness.results import Result
from harness.session import Session, compared
from harness.statistics import Goal
from windtunnel.engine.plan import Endpoint

GOAL = Goal(0.97, "at least", aim=1.0)
MODE = "macswap"


def against_testpmd(
    session: Session,
    handler: str,
    wire: str,
    scenario: str,
    device: Callable[[Endpoint], str],
    sets: Mapping[str, str] = {},
    beside: Sequence[str] = (),
) -> list[Result]:
    """Packets per second of the time that the core was ours. `device`: the EAL's --vdev of the same port. `beside`: other forward
    modes, without a goal."""
    sets = {"server.cores": f"[{session.cpu}]", **sets}
    plan = session.plan(scenario, sets)
    references = {mode: f"testpmd {mode}" for mode in (MODE, *beside)}
    rounds = session.in_turns(
        {handler: lambda: session.run(scenario, sets).forwarded()}
        | {
            name: lambda mode=mode: testpmd.forward(plan, device(plan.endpoints[0]), mode, session.seconds)
            for mode, name in references.items()
        },
        "Mpps",
        1e6,
    )
    return [
        compared(
            session,
            f"{handler} on {wire}" + (f", by {mode}" if mode != MODE else ""),
            rounds,
            handler,
            name,
            "Mpps",
            1e6,
            GOAL if mode == MODE else None,
        )
        for mode, name in references.items()
    ]
