"""What do the accounting levels cost on the six-stage echo?

Both sides on one worker, ticks per packet as in six_stages.py. Every round runs all five levels; a price is the median of the
paired differences in percent. `sampled` is held to its goal against `counts`: what taking cycles on every Nth loop adds.
Against `off` all accounting is in the price; it is shown for each level, without a goal.
"""

from harness.main import main
from harness.results import Result
from harness.session import Session, compared
from harness.statistics import Goal

SCENARIO = "six-stages.toml"
LEVELS = ("off", "counts", "sampled", "cycles", "histograms")
GOAL = Goal(2.0, "at most")


def measure(session: Session) -> list[Result]:
    both = {f"{side}.cores": f"[{session.cpu}]" for side in ("server", "client")}
    rounds = session.in_turns(
        {
            level: lambda level=level: session.run(SCENARIO, both | {"accounting.level": level}).ticks_per_packet()
            for level in LEVELS
        },
        "ticks/packet",
    )
    priced = [(level, "counts") for level in LEVELS[2:]] + [(level, "off") for level in LEVELS[1:]]
    return [
        compared(
            session,
            f"price of {level} against {reference}",
            rounds,
            level,
            reference,
            "ticks/packet",
            goal=GOAL if (level, reference) == ("sampled", "counts") else None,
            as_result=("%", lambda ratio: (ratio - 1) * 100),
        )
        for level, reference in priced
    ]


if __name__ == "__main__":
    main(__doc__, measure)
