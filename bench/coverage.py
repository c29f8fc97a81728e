"""How often does an interval hold that the product prints?

No engine runs, nothing is timed: data of which the truth is known are simulated and given to the functions of `windtunnel.stats`.
docs/measurements/intervals.md has what came out.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.shares import result_of
from harness.statistics import Goal
from scipy.signal import lfilter

from windtunnel.measure.search import NDR, Limits, TrialResult, search
from windtunnel.measure.throughput.pauses import Patience
from windtunnel.measure.throughput.trials import MOST_PAUSED
from windtunnel.stats.days import another_day
from windtunnel.stats.family import greatest_of_all
from windtunnel.stats.levels import LEAST_RUNS, change_points
from windtunnel.stats.looks import MOST_PAIRS, look
from windtunnel.stats.mean import mean_of
from windtunnel.stats.median import interval, interval_at_any_look
from windtunnel.stats.points import points_in_blocks
from windtunnel.stats.quantile import quantile_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulated_device import Device

SERIES = 2_000
"""Of each kind, of means; a tenth of that of what takes longer."""
WINDOWS = (12, 20, 40, 80)
CORRELATIONS = (0.0, 0.3, 0.5, 0.8, 0.9, 0.95)
HELD_TO = 0.8
"""Greatest correlation of the goals; beyond it the shares are shown."""
OWN_NOISE = {0.0: "", 0.5: ", half of the variance their own"}
REPEATS = 30
"""Most runs of `run --until`."""
BEFORE = 60
"""Values that a series has behind it when it begins."""
EDGES = np.exp(np.linspace(0, 9, 2_000))
"""Of the buckets of a latency, ns."""


def measure(session: Session) -> Iterator[Result]:
    for own, words in OWN_NOISE.items():
        held = {(n, r): _mean_holds(n, r, own) for n, r in product(WINDOWS, CORRELATIONS)}
        goal = None if own else Goal(0.92, "at least", least_samples=1)
        yield _of_windows(session, f"mean over windows{words}: the 95% interval holds", held, goal)
    for share in (0.5, 0.99):
        held = {(n, r): _quantile_holds(n, r, share) for n, r in product(WINDOWS, (0.0, 0.5, 0.8))}
        yield _of_windows(session, f"p{100 * share:g} over windows: likewise", held, None)
    best = {f"{points} points, 3 repeats": _best_holds(points) for points in (9, 27, 100)}
    yield result_of(session, "best point of a study: likewise", best, Goal(0.92, "at least", least_samples=1))
    day = {f"{days} days, {runs} runs": _day_holds(days, runs) for days, runs in ((3, 10), (5, 1), (10, 4))}
    yield result_of(session, "a run on another day lies in its interval", day, Goal(0.9, "at least", least_samples=1))
    shown = {
        f"{groups} points or workloads, {pairs} pairs": _shown(groups, pairs) for groups, pairs in ((1, 10), (16, 10))
    }
    yield result_of(session, "compare shows a difference of none", shown, Goal(0.02, "at most", least_samples=1))
    better = {f"one of five scatters {times} times as much": _better(times) for times in (1, 4)}
    yield result_of(session, "tune calls better what is not", better, Goal(0.025, "at most", least_samples=1))
    until = {"at any of 30 looks": _until_holds(interval_at_any_look), "without all looks": _until_holds(interval)}
    goal = Goal(0.95, "at least", least_samples=1)
    yield result_of(session, "run --until: the 95% interval holds", until, goal, [until["at any of 30 looks"]])
    rates = {f"pauses in {share:.0%} of the trials": _rate_with_pauses(share) for share in (0.0, 0.5, 0.8, 0.9)}
    yield result_of(session, "NDR found, of the true one", {kind: rate for kind, (rate, _) in rates.items()}, None)
    yield result_of(
        session, "searches in which pauses did not count", {kind: of for kind, (_, of) in rates.items()}, None
    )
    told = {f"correlation {r}": _told(r) for r in (0.0, 0.3, 0.5)}
    yield result_of(session, "a flat history shows a change at one of 100 looks", told, None)


def _mean_holds(windows: int, correlation: float, own: float) -> float:
    """`own`: share of each window's own noise in the variance."""
    random = np.random.default_rng(windows)
    hold = 0
    for _ in range(SERIES):
        series = np.sqrt(1 - own) * _noise(random, windows, correlation) + np.sqrt(own) * random.normal(0, 1, windows)
        found = mean_of(series)
        hold += found.low is not None and found.low <= 0 <= (found.high or 0)
    return hold / SERIES


def _quantile_holds(windows: int, correlation: float, share: float) -> float:
    """Exponential latencies of 500 messages a window, at a level that wanders by 10%."""
    random, hold, count = np.random.default_rng(windows), 0, SERIES // 10
    many = np.exp(0.1 * random.standard_normal(10**6)) * random.exponential(100, 10**6)
    true = np.quantile(many, share)
    for _ in range(count):
        levels = np.exp(0.1 * _noise(random, windows, correlation))
        places = np.searchsorted(EDGES, levels[:, None] * random.exponential(100, (windows, 500)))
        counts = np.array([np.bincount(row, minlength=len(EDGES) + 1) for row in places])
        found = quantile_of(counts, np.zeros(windows, dtype=np.int64), share)
        low = found.low is not None and (found.low == 0 or EDGES[found.low - 1] <= true)
        hold += low and (found.high is None or true <= EDGES[found.high])
    return hold / count


def _best_holds(points: int) -> float:
    """Of points that are alike."""
    random, hold, count = np.random.default_rng(points), 0, SERIES // 10
    for _ in range(count):
        found = points_in_blocks([dict(enumerate(row)) for row in random.normal(0, 1, (points, 3)).tolist()])
        assert found is not None
        best = int(np.argmax(found.levels))
        hold += bool(abs(found.levels[best]) <= found.margins[best])
    return hold / count


def _day_holds(days: int, runs: int) -> float:
    """Days that differ by 3%, and runs by 1%."""
    random, hold = np.random.default_rng(days), 0
    for _ in range(SERIES):
        drawn = 0.03 * random.standard_normal((days + 1, 1)) + 0.01 * random.standard_normal((days + 1, runs))
        found = another_day(drawn[:-1].tolist())
        assert found is not None and found.low is not None and found.high is not None
        hold += found.low <= drawn[-1, 0] <= found.high
    return hold / SERIES


def _shown(groups: int, pairs: int) -> float:
    random, shown, count = np.random.default_rng(groups), 0, SERIES // 10
    for _ in range(count):
        p_values = greatest_of_all([0.03 * random.standard_normal((pairs, 1)) for _ in range(groups)])
        shown += min(min(each) for each in p_values) <= 0.01
    return shown / count


def _better(times: int) -> float:
    random, better = np.random.default_rng(times), 0
    for _ in range(SERIES):
        others = [random.normal(0, 0.01, MOST_PAIRS).tolist() for _ in range(4)]
        own: list[float] = []
        while len(own) < MOST_PAIRS:
            own.append(float(random.normal(0, 0.01 * times)))
            if (found := look(own, others)).decided:
                better += found.better
                break
    return better / SERIES


def _until_holds(of: Callable[[list[float]], tuple[float | None, float | None]]) -> float:
    """At all looks together, with heavy tails."""
    random, hold = np.random.default_rng(3), 0
    for _ in range(SERIES):
        values = random.standard_t(2.5, REPEATS).tolist()
        intervals = [of(values[:count]) for count in range(1, REPEATS + 1)]
        hold += all(low is None or high is None or low <= 0 <= high for low, high in intervals)
    return hold / SERIES


def _rate_with_pauses(share: float) -> tuple[float, float]:
    """The median NDR of a device whose capacity differs by 2% from trial to trial; a pause loses what falls due in it. Of the searches in which
    pauses did not count in the end; and their share."""
    random, rates, count = np.random.default_rng(4), [], SERIES // 10
    for seed in range(count):
        device, patience = Device(1e6, noise=0.02, seed=seed), Patience(MOST_PAUSED)

        def trial(
            load: float, duration_s: float, device: Device = device, patience: Patience = patience
        ) -> TrialResult:
            result, paused = device(load, duration_s), random.random() < share
            lost = min(result.forwarded, round(0.01 * load)) * paused
            excluded = "pause" if patience.excludes(paused) else None
            return replace(result, forwarded=result.forwarded - lost, excluded=excluded)

        found = search(trial, [NDR], Limits(1e3, 1.5e6, excluded=1000, trials=100_000))["NDR"].conditional_throughput
        if not patience.given_up:
            rates.append((found or 0.0) / (device.truth(NDR) or 1))
    return float(np.median(rates)), len(rates) / count


def _told(correlation: float) -> float:
    random, told, count = np.random.default_rng(1), 0, SERIES // 20
    for _ in range(count):
        values = np.exp(0.02 * _noise(random, LEAST_RUNS + 100, correlation)).tolist()
        told += any(change_points(values[:runs]) for runs in range(LEAST_RUNS, len(values) + 1))
    return told / count


def _noise(random: np.random.Generator, count: int, correlation: float) -> np.ndarray:
    """AR(1) noise around 0 with a standard deviation of 1."""
    steps = random.normal(0, np.sqrt(1 - correlation**2), count + BEFORE)
    return lfilter([1], [1, -correlation], steps)[BEFORE:]


def _of_windows(session: Session, name: str, held: Mapping[tuple[int, float], float], goal: Goal | None) -> Result:
    shares = {f"{windows} windows, correlation {r}": share for (windows, r), share in held.items()}
    judged = [share for (_, r), share in held.items() if r <= HELD_TO]
    return result_of(session, name, shares, goal, judged)


if __name__ == "__main__":
    main(__doc__, measure)
