"""What does a trace of one loop in 1,000 cost?

The six stages of both sides on one core, at the default accounting, with `--trace --trace-every 997` and without: ticks per packet.
That price drowns in the host's noise, so one loop in 11 is traced as well: what a traced loop costs more is paid 11/997 as often.
"""

from harness.main import main
from harness.results import Result
from harness.session import Session, compared
from harness.statistics import Goal

SCENARIO = "six-stages.toml"
RARELY, OFTEN = 997, 11


def traced(every: int) -> tuple[str, ...]:
    return "--trace", "--trace-every", str(every)


def measure(session: Session) -> list[Result]:
    sets = {f"{side}.cores": f"[{session.cpu}]" for side in ("server", "client")}
    rounds = session.in_turns(
        {
            "traced": lambda: session.run(SCENARIO, sets, options=traced(RARELY)).ticks_per_packet(),
            "often traced": lambda: session.run(SCENARIO, sets, options=traced(OFTEN)).ticks_per_packet(),
            "not traced": lambda: session.run(SCENARIO, sets).ticks_per_packet(),
        },
        "ticks/packet",
    )
    goal = Goal(1.0, "at most")
    price = ("%", lambda ratio: 100 * (ratio - 1))
    share = ("%", lambda ratio: 100 * (ratio - 1) * OFTEN / RARELY)

    def beside(name: str, who: str, told: tuple, held: Goal | None = None) -> Result:
        return compared(session, name, rounds, who, "not traced", "ticks/packet", 1.0, held, told)

    return [
        beside(f"a trace of one loop in {RARELY}", "traced", price, goal),
        beside(f"the same, as {OFTEN}/{RARELY} of one in {OFTEN}", "often traced", share, goal),
        beside(f"a trace of one loop in {OFTEN}", "often traced", price),
    ]


if __name__ == "__main__":
    main(__doc__, measure)
