"""Does our search take no more trials and no more time than the reference, and is what it finds true?

No engine runs: both search on the same simulated devices (tests/support/simulated_device.py), of eight kinds, 25
seeds each, for NDR and PDR at once, with the same goals and limits. The reference is MLRsearch 1.2.1 from PyPI, by
the RFC's authors, without its warm-up trial. Nothing is timed, so nothing here depends on the host, and --pairs,
--seconds and --memory change nothing.

What is true is defined by the goal itself: the load at which its own rule, with all its duration sum spent in trials
of the final length, says "lower bound" with an even chance. For a device without noise that is its limit; with
noise, the median of its capacity. A drifting device has one truth before and one after the search: right is what is
true of either or of what lies between. A result is right within the goal's width of it, or irregular where there is
no such load.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean

import numpy as np
from harness import oracle
from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import RESAMPLES, Goal, Spread, extent, judge

from windtunnel.measure.search import NDR, PDR, Limits, TrialResult, search
from windtunnel.measure.search import Goal as SearchGoal

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from simulated_device import Device

SEEDS = 25
OVERHEAD_S = 1.0
"""Of each trial, shown next to the plain time: an engine that starts, a device that settles."""
SHARE = 95.0

KINDS: dict[str, Callable[[Random], dict]] = {
    "steady": lambda random: {},
    "buffering": lambda random: {"buffer": random.randint(100, 20_000)},
    "noisy 0.1%": lambda random: {"noise": 0.001},
    "noisy 0.5%": lambda random: {"noise": 0.005},
    "noisy 1%": lambda random: {"noise": 0.01},
    "drifting": lambda random: {"drift_per_s": random.uniform(-5e-5, 5e-5)},
    "stalling": lambda random: {"stall_every_s": random.uniform(7, 20), "stall_s": random.uniform(0.01, 0.05)},
    "collapsing": lambda random: {"collapse": random.uniform(0.2, 1.5)},
}
GOALS = {
    "half of 21 x 1 s": (NDR, PDR),
    "one of 30 s": tuple(
        replace(goal, exceed_ratio=0.0, final_trial_duration_s=30.0, duration_sum_s=30.0) for goal in (NDR, PDR)
    ),
    "one of two of 30 s": tuple(replace(goal, final_trial_duration_s=30.0, duration_sum_s=60.0) for goal in (NDR, PDR)),
}
"""The first are FD.io CSIT's, and the ones that are judged; the others start with trials of 1 s."""


@dataclass(frozen=True)
class Outcome:
    """Of one search."""

    trials: int
    time_s: float
    right: tuple[bool, ...]
    """By goal."""

    @property
    def with_overhead_s(self) -> float:
        return self.time_s + OVERHEAD_S * self.trials


@dataclass(frozen=True)
class Pair:
    kind: str
    ours: Outcome
    reference: Outcome


def measure(session: Session) -> list[Result]:
    results: list[Result] = []
    for name, goals in GOALS.items():
        pairs = [_pair(kind, seed, goals) for kind in KINDS for seed in range(SEEDS)]
        for kind in KINDS:
            session.log(f"{name}, {kind}: {_words([pair for pair in pairs if pair.kind == kind])}")
        results += _results(name, pairs, judged=name == next(iter(GOALS)))
    return results


def _pair(kind: str, seed: int, goals: Sequence[SearchGoal]) -> Pair:
    random = Random(f"{kind} {seed}")
    capacity = 10 ** random.uniform(5, 7)
    limits = Limits(capacity / 10 ** random.uniform(2, 4), capacity * random.uniform(1.05, 12))
    device = Device(capacity, **KINDS[kind](random), seed=seed)
    ours, theirs = replace(device), replace(device)
    result = search(ours, goals, limits)
    found = oracle.search(theirs, goals, limits)
    return Pair(
        kind,
        _outcome(ours, goals, result.trials, [goal.relevant_lower_bound for goal in result.goals]),
        _outcome(theirs, goals, found.trials, [lower for lower, _ in found.bounds]),
    )


def _outcome(
    device: Device, goals: Sequence[SearchGoal], trials: Sequence[TrialResult], lowers: Sequence[float | None]
) -> Outcome:
    right = tuple(_is_right(device, goal, lower) for goal, lower in zip(goals, lowers, strict=True))
    return Outcome(len(trials), math.fsum(trial.duration_s for trial in trials), right)


def _is_right(device: Device, goal: SearchGoal, lower: float | None) -> bool:
    before, after = device.truth(goal), device.truth(goal, device.clock_s)
    if before is None or after is None or lower is None:
        return before is after is lower is None
    return min(before, after) * (1 - goal.width) <= lower <= max(before, after) * (1 + goal.width)


def _results(name: str, pairs: Sequence[Pair], judged: bool) -> list[Result]:
    costs: dict[str, Callable[[Outcome], float]] = {
        "trials": lambda outcome: outcome.trials,
        "time of trials": lambda outcome: outcome.time_s,
        f"time with {OVERHEAD_S:g} s a trial": lambda outcome: outcome.with_overhead_s,
    }
    results = []
    for cost, of in costs.items():
        ours, theirs = [of(pair.ours) for pair in pairs], [of(pair.reference) for pair in pairs]
        results.append(_cost(f"{cost}, {name}", ours, theirs, judged))
    for number, goal in enumerate(("NDR", "PDR")):
        share = {who: 100 * fmean(getattr(pair, who).right[number] for pair in pairs) for who in ("ours", "reference")}
        limit = Goal(SHARE, "at least", least_samples=1) if judged and goal == "NDR" else None
        spread = extent([share["ours"]])
        results.append(
            Result(
                f"{goal} within its width of the truth, {name}",
                "none",
                spread,
                "%",
                f"{len(pairs)} devices",
                f"MLRsearch 1.2.1: {share['reference']:.4g} %",
                goal=limit,
                verdict=judge(spread, limit) if limit else None,
            )
        )
    return results


def _cost(name: str, ours: Sequence[float], theirs: Sequence[float], judged: bool) -> Result:
    spread, goal = _ratio_of_sums(ours, theirs), Goal(1.0, "at most") if judged else None
    return Result(
        name,
        "none",
        spread,
        "x",
        f"{fmean(ours):.4g} a search",
        f"MLRsearch 1.2.1: {fmean(theirs):.4g}",
        goal=goal,
        verdict=judge(spread, goal) if goal else None,
        details={"ours": list(ours), "reference": list(theirs)},
    )


def _ratio_of_sums(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Over all devices, with the 95% interval that other devices of these kinds might give (paired bootstrap)."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    drawn = np.random.default_rng(1).choice(a.size, (RESAMPLES, a.size))
    low, high = np.percentile(a[drawn].sum(axis=1) / b[drawn].sum(axis=1), (2.5, 97.5))
    return Spread(float(a.sum() / b.sum()), float(low), float(high), a.size, "95%")


def _words(pairs: Sequence[Pair]) -> str:
    """Of one kind of device: what a search took on the average and how many were right."""

    def of(who: str) -> str:
        outcomes: list[Outcome] = [getattr(pair, who) for pair in pairs]
        ndr, pdr = (sum(outcome.right[number] for outcome in outcomes) for number in (0, 1))
        trials, time_s = fmean(o.trials for o in outcomes), fmean(o.time_s for o in outcomes)
        return f"{trials:.1f} trials, {time_s:.1f} s, right: NDR {ndr}, PDR {pdr}"

    return f"ours {of('ours')}; reference {of('reference')} of {len(pairs)}"


if __name__ == "__main__":
    main(__doc__, measure)
