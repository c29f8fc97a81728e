"""How often something holds that should, for several kinds of data, as a result."""

from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge


def result_of(
    session: Session, name: str, shares: dict[str, float], goal: Goal | None, judged: list[float] | None = None
) -> Result:
    """`judged`: those of the shares that the goal is for; None: all of them."""
    shares = {kind: float(share) for kind, share in shares.items()}
    of_goal = [float(share) for share in judged or shares.values()]
    worst = (max if goal and goal.sense == "at most" else min)(of_goal)
    spread = extent(of_goal)
    return Result(
        name,
        session.memory,
        spread,
        "",
        f"worst: {worst:.1%}, {next(kind for kind, share in shares.items() if share == worst)}",
        goal=goal,
        verdict=judge(spread, goal) if goal else None,
        details=shares,
    )
