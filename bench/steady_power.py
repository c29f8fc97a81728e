"""How often does the steady check find a step, and how often does it see one in noise?

No engine runs, nothing is timed: series of windows with AR(1) noise are simulated, 1,000 of each kind, and given to the check
as a run gives it its own.
"""

from collections.abc import Iterator

import numpy as np
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge

from windtunnel.stats import levels

SERIES = 1_000
WINDOWS = (8, 12, 20, 40, 80)
AUTOCORRELATIONS = (0.0, 0.5, 0.9)
LIMIT = 0.1
"""`validity.max_drift` by default."""
HOST_NOISE = 0.1
QUIET_NOISE = 0.02
"""Standard deviation of the rate of a window of 250 ms in one host state."""
STEP = 0.8


def measure(session: Session) -> list[Result]:
    alarms = {
        f"{windows} windows, autocorrelation {rho}": _found(_noise(windows, HOST_NOISE, rho))
        for windows in WINDOWS
        for rho in AUTOCORRELATIONS
    }
    found = {
        f"from window {at + 1} of 12 on": _found(_stepped(_noise(12, QUIET_NOISE, 0.0), at)) for at in range(1, 12)
    }
    return [
        _result(session, "false alarms, noise of 10%", alarms, Goal(0.05, "at most", least_samples=len(alarms))),
        _result(session, "steps of -20% found, noise of 2%", found, Goal(0.9, "at least", least_samples=len(found))),
    ]


def _result(session: Session, name: str, shares: dict[str, float], goal: Goal) -> Result:
    worst = (max if goal.sense == "at most" else min)(shares, key=shares.__getitem__)
    spread = extent(list(shares.values()))
    return Result(
        name,
        session.memory,
        spread,
        "",
        f"worst: {shares[worst]:.1%}, {worst}",
        goal=goal,
        verdict=judge(spread, goal),
        details=dict(shares),
    )


def _noise(windows: int, deviation: float, autocorrelation: float) -> Iterator[np.ndarray]:
    random = np.random.default_rng(windows)
    for _ in range(SERIES):
        steps = random.normal(0, deviation * np.sqrt(1 - autocorrelation**2), windows)
        noise = [random.normal(0, deviation)]
        for step in steps[1:]:
            noise.append(autocorrelation * noise[-1] + step)
        yield 1 + np.asarray(noise)


def _stepped(series: Iterator[np.ndarray], at: int) -> Iterator[np.ndarray]:
    for values in series:
        values[at:] *= STEP
        yield values


def _found(series: Iterator[np.ndarray]) -> float:
    """Share of the series in which a step or a trend is found."""
    courses = [levels.course(values, LIMIT) for values in series]
    return sum(len(course.levels) > 1 or course.trend != 0 for course in courses) / SERIES


if __name__ == "__main__":
    main(__doc__, measure)
