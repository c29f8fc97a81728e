"""How often does `windtunnel history` see a change in a flat history, and how often does it find a step of 5% in 2% of noise?

No engine runs, nothing is timed: rates of runs with AR(1) noise are simulated and given to the history as readings. The threshold of
`windtunnel.stats.levels` comes from here.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, extent, judge
from scipy.signal import lfilter

from windtunnel.measure.compare.reading import Reading
from windtunnel.measure.history.judge import history
from windtunnel.stats.levels import LASTING

HISTORIES = 400
"""Of each kind."""
RUNS = (12, 20, 30, 100)
AUTOCORRELATIONS = (0.0, 0.3, 0.5)
GOAL_AT = "30 runs, autocorrelation 0.0"
NOISE, STEP = 0.02, 0.95
OFF = 2
"""Runs by which the place of a step may be missed."""
BEFORE = 50
"""Values that a series has behind it when it begins."""
ONE = Reading(
    path=Path(),
    started=datetime(2026, 1, 1, tzinfo=UTC),
    reasons=[],
    problems=[],
    scenario={"title": "simulated"},
    identity={"host": "here", "kernel": "6.1", "engine": "1", "DPDK": "1"},
    state=None,
    line_ns=None,
    builds=[],
    question="",
    accounting="",
    emulated=[],
    modes={"echo": "closed"},
    values={},
    not_forwarded={},
)


def measure(session: Session) -> list[Result]:
    kinds = {f"{runs} runs, autocorrelation {rho}": _shares(runs, rho) for runs in RUNS for rho in AUTOCORRELATIONS}
    alarms, middle, late = ({words: shares[n] for words, shares in kinds.items()} for n in range(3))
    return [
        _result(session, "false alarms, flat histories", alarms, Goal(0.02, "at most", least_samples=1)),
        _result(session, "steps of -5% found, noise of 2%", middle, Goal(0.9, "at least", least_samples=1)),
        _result(session, f"likewise with {LASTING} runs after the step", late, None),
    ]


def _shares(runs: int, correlation: float) -> tuple[float, float, float]:
    """Of flat histories with a change point; of steps in the middle half that are found; of steps LASTING runs before the end."""
    random = np.random.default_rng(runs)
    false = middle = late = 0
    for _ in range(HISTORIES):
        false += bool(_change_points(random, runs, correlation, runs))
        at = int(random.integers(runs // 4, runs - runs // 4 + 1))
        middle += _found(random, runs, correlation, at)
        late += _found(random, runs, correlation, runs - LASTING)
    return false / HISTORIES, middle / HISTORIES, late / HISTORIES


def _found(random: np.random.Generator, runs: int, correlation: float, at: int) -> bool:
    return any(abs(place - at) <= OFF for place in _change_points(random, runs, correlation, at))


def _change_points(random: np.random.Generator, runs: int, correlation: float, at: int) -> list[int]:
    """Of a history with a step at this run; none, where that is behind the last one."""
    innovations = random.normal(0, NOISE * np.sqrt(1 - correlation**2), runs + BEFORE)
    values = 1e6 * np.exp(lfilter([1], [1, -correlation], innovations)[BEFORE:])
    values[at:] *= STEP
    return [change.run for change in history(list(map(_reading, range(runs), values))).states[0].metrics[0].changes]


def _reading(number: int, value: float) -> Reading:
    started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
    return replace(ONE, path=Path(f"{number:04}"), started=started, values={("echo", "responses_per_s"): float(value)})


def _result(session: Session, name: str, shares: dict[str, float], goal: Goal | None) -> Result:
    """The goal is for GOAL_AT."""
    spread = extent([shares[GOAL_AT]])
    return Result(
        name,
        session.memory,
        spread,
        "",
        f"{GOAL_AT}: {shares[GOAL_AT]:.1%}",
        goal=goal,
        verdict=judge(spread, goal) if goal else None,
        details=dict(shares),
    )


if __name__ == "__main__":
    main(__doc__, measure)
