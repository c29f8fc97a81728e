"""The metrics of both sides of a point, with estimates of how far they are apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, log1p, sqrt

from windtunnel.host import states
from windtunnel.measure.compare.points import LEAST_PAIRS, pairs
from windtunnel.measure.compare.reading import MetricKey, Reading, windows
from windtunnel.stats import differences
from windtunnel.stats.differences import LEAST_RUNS, LEVEL, Estimate
from windtunnel.stats.mean import mean_of
from windtunnel.stats.median import least_at_any_look

OF_NORMAL = 1.96
"""Half a 95% interval in standard errors."""


@dataclass(frozen=True)
class ValidRuns:
    """Valid runs of both sides in one state of the host, and how they are compared."""

    a: list[Reading]
    b: list[Reading]
    in_turn: bool
    """Whether a[i] and b[i] are a pair."""
    unpaired: list[Reading]
    """Valid runs without a partner if the others are pairs."""
    by_state: list[tuple[str | None, int, int]]
    """State, runs of A, runs of B; first the state that is compared."""
    dropped: int
    """Pairs whose runs were in two states, or in one that is not known."""
    between: float
    """Assumed spread from run to run, as a share."""
    looked_at: bool = False
    """Whether the pairs were looked at one after the other, to end as soon as they decide."""

    @property
    def sides(self) -> list[tuple[str, list[Reading]]]:
        return [("A", self.a), ("B", self.b)]

    @property
    def fewest(self) -> int:
        """Runs of the smaller side."""
        return min(len(self.a), len(self.b))

    @cached_property
    def _windows(self) -> dict[int, list[dict[MetricKey, float | None]]]:
        return {id(reading): windows(reading.path) for reading in (*self.a, *self.b)}

    @property
    def method(self) -> str:
        if self.fewest < LEAST_RUNS:
            return "assumed"
        return "paired" if self.in_turn else "unpaired"

    def metrics(self) -> list[MetricKey]:
        """Metrics that any run of both sides has, in A's order."""
        keys_of_b = {key for reading in self.b for key in reading.values}
        return [key for key in dict.fromkeys(f for r in self.a for f in r.values) if key in keys_of_b]

    def within(self, key: MetricKey) -> float:
        """Standard error of the difference that the windows inside the runs account for."""
        squares = 0.0
        for side in (self.a, self.b):
            for reading in side:
                logs = [log(value) for window in self._windows[id(reading)] if (value := window.get(key))]
                mean = mean_of(logs) if logs else None
                error = (mean.high - mean.mean) / OF_NORMAL if mean and mean.high is not None else 0.0
                squares += (error / len(side)) ** 2
        return sqrt(squares)


def beyond(side: Sequence[Reading], key: MetricKey) -> int:
    """Runs of a side in which this percentile is one of a lost message."""
    return sum(key in reading.beyond for reading in side)


def valid_runs(
    a: Sequence[Reading], b: Sequence[Reading], between: float, paired: bool, looked_at: bool = False
) -> ValidRuns:
    """Pairs if A and B alternated, else the runs of both sides; of the state that has most of them. An invalid run is excluded, and
    its partner with it; so is a pair whose runs were in two states. `paired`: one pair is enough to tell that they alternated."""
    valid = [[reading for reading in side if not reading.reasons] for side in (a, b)]
    valid_pairs = [
        pair for pair in pairs(a, b, 1 if paired else LEAST_PAIRS) if not pair[0].reasons and not pair[1].reasons
    ]
    of_state = states.groups(valid_pairs)
    if not of_state:
        of_side = states.sides(*valid)
        counts = [(state, len(of_a), len(of_b)) for state, of_a, of_b in of_side]
        _, of_a, of_b = of_side[0]
        return ValidRuns(of_a, of_b, False, [], counts, len(valid_pairs), between)
    of_a, of_b = ([valid_pairs[n][side] for n in of_state[0].positions] for side in (0, 1))
    partners = {id(reading) for pair in valid_pairs for reading in pair}
    return ValidRuns(
        of_a,
        of_b,
        in_turn=True,
        unpaired=[reading for side in valid for reading in side if id(reading) not in partners],
        by_state=[(group.state, len(group.positions), len(group.positions)) for group in of_state],
        dropped=len(valid_pairs) - sum(len(group.positions) for group in of_state),
        between=between,
        looked_at=looked_at,
    )


def estimate(valid: ValidRuns, key: MetricKey, level: float = LEVEL) -> tuple[Estimate | None, str | None]:
    """How far B is from A in this metric, with an interval of 1 - level; or why there is no estimate."""
    lost = [f"{count} of {len(side)} runs of {name}" for name, side in valid.sides if (count := beyond(side, key))]
    if lost:
        return None, f"so many messages were lost that it is beyond any response in {' and '.join(lost)}"
    a, b = values_of(valid, key)
    sides_without = [name for name, side in valid.sides if all(reading.values.get(key) is None for reading in side)]
    if sides_without:
        return None, f"not measured in {' and '.join(sides_without)}"
    if not a or not b:
        return None, "measured in no run of A and its partner of B"
    if not any((*a, *b)):
        return None, "0 on both sides"
    if min(*a, *b) <= 0:
        return None, "0 in some runs: no ratio"
    if valid.method == "assumed":
        return differences.assumed(a, b, log1p(valid.between), valid.within(key), level), None
    if min(len(a), len(b)) < LEAST_RUNS:
        return None, f"not measured in {len(valid.a) - len(a) + len(valid.b) - len(b)} runs"
    if valid.looked_at:
        result = differences.paired_at_any_look(a, b, level)
        few_pairs = f"{len(a)} pairs: an interval at any look takes {least_at_any_look(1 - level)}"
        return result, few_pairs if result is None else None
    estimator: Callable[..., Estimate] = differences.paired if valid.in_turn else differences.unpaired
    return estimator(a, b, level), None


def values_of(valid: ValidRuns, key: MetricKey) -> tuple[list[float], list[float]]:
    """The values of either side; in pairs, those of the pairs in which both have one."""
    a, b = ([reading.values.get(key) for reading in side] for side in (valid.a, valid.b))
    if valid.in_turn:
        value_pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        return [x for x, _ in value_pairs], [y for _, y in value_pairs]
    return [value for value in a if value is not None], [value for value in b if value is not None]
