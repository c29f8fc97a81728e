"""How close does `l2fwd` come to testpmd's macswap?

One core, one net_null port that gives frames of 64 bytes and copies them, the same pool, descriptors and burst. Packets per
second of the time that the core was ours; accounting `counts`.
"""

from harness import testpmd
from harness.figures import Figure
from harness.main import main
from harness.session import Session, compared
from harness.statistics import Goal

SCENARIO = "l2fwd.toml"


def measure(session: Session) -> list[Figure]:
    sets = {"server.cores": f"[{session.cpu}]"}
    plan = session.plan(SCENARIO, sets)
    port = plan.endpoints[0].port
    device = f"net_null0,size={port.packet_bytes},copy={int(port.copy_bytes)}"
    samples = session.in_turns(
        {
            "l2fwd": lambda: session.fly(SCENARIO, sets).forwarded(),
            "testpmd macswap": lambda: testpmd.macswap(plan, device, session.seconds),
        },
        "Mpps",
        1e6,
    )
    goal = Goal(0.97, "at least", aim=1.0)
    return [compared(session, "l2fwd on null", samples, "l2fwd", "testpmd macswap", "Mpps", 1e6, goal)]


if __name__ == "__main__":
    main(__doc__, measure)
