"""What does a trace of one loop in 1,000 cost?

The six stages of both sides on one core, at the default accounting, with `--trace --trace-every 997` and without: ticks per packet.
"""

from harness.figures import Figure
from harness.main import main
from harness.session import Session, compared
from harness.statistics import Goal

SCENARIO = "six-stages.toml"
TRACED = ("--trace", "--trace-every", "997")


def measure(session: Session) -> list[Figure]:
    sets = {f"{side}.cores": f"[{session.cpu}]" for side in ("server", "client")}
    rounds = session.in_turns(
        {
            "traced": lambda: session.fly(SCENARIO, sets, options=TRACED).ticks_per_packet(),
            "not traced": lambda: session.fly(SCENARIO, sets).ticks_per_packet(),
        },
        "ticks/packet",
    )
    goal = Goal(1.0, "at most")
    price = ("%", lambda ratio: 100 * (ratio - 1))
    return [
        compared(
            session, "a trace of one loop in 997", rounds, "traced", "not traced", "ticks/packet", 1.0, goal, price
        )
    ]


if __name__ == "__main__":
    main(__doc__, measure)
