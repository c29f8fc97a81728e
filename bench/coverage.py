"""How often does an interval hold that the product prints?

No engine runs, nothing is timed: series of which the truth is known are simulated and given to the functions of `windtunnel.stats`.
docs/measurements/intervals.md has what came out.
"""

from collections.abc import Iterator

import numpy as np
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge
from scipy.signal import lfilter

from windtunnel.stats.mean import mean_of

SERIES = 2_000
"""Of each kind."""
WINDOWS = (12, 20, 40, 80)
CORRELATIONS = (0.0, 0.3, 0.5, 0.8, 0.9, 0.95)
HELD_TO = (0.0, 0.3, 0.5, 0.8)
"""Correlations of the goal; the others are shown."""
OWN_NOISE = {0.0: "", 0.5: ", half of the variance their own"}
GOAL = Goal(0.92, "at least", least_samples=1)
BEFORE = 60
"""Values that a series has behind it when it begins."""


def measure(session: Session) -> Iterator[Result]:
    for own, words in OWN_NOISE.items():
        holds = {(n, r): _mean_holds(n, r, own) for n in WINDOWS for r in CORRELATIONS}
        yield _result(session, f"mean over windows{words}: the 95% interval holds", holds, None if own else GOAL)


def _mean_holds(windows: int, correlation: float, own: float) -> float:
    """`own`: share of each window's own noise in the variance."""
    random = np.random.default_rng(windows)
    hold = 0
    for _ in range(SERIES):
        series = np.sqrt(1 - own) * _noise(random, windows, correlation) + np.sqrt(own) * random.normal(0, 1, windows)
        found = mean_of(series)
        hold += found.low is not None and found.low <= 0 <= (found.high or 0)
    return hold / SERIES


def _noise(random: np.random.Generator, count: int, correlation: float) -> np.ndarray:
    """AR(1) noise around 0 with a standard deviation of 1."""
    steps = random.normal(0, np.sqrt(1 - correlation**2), count + BEFORE)
    return lfilter([1], [1, -correlation], steps)[BEFORE:]


def _result(session: Session, name: str, holds: dict[tuple[int, float], float], goal: Goal | None) -> Result:
    held = {kind: share for kind, share in holds.items() if kind[1] in HELD_TO}
    worst = min(held, key=held.__getitem__)
    spread = extent(list(held.values()))
    return Result(
        name,
        session.memory,
        spread,
        "",
        f"worst: {holds[worst]:.1%}, {worst[0]} windows, correlation {worst[1]}",
        goal=goal,
        verdict=judge(spread, goal) if goal else None,
        details={
            f"{windows} windows, correlation {correlation}": share for (windows, correlation), share in holds.items()
        },
    )


if __name__ == "__main__":
    main(__doc__, measure)
