"""What is searched for: goals, and the limits within which a search moves."""

import math
from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.measure.search.latency import Objective

MOST_TRIALS = 1000
"""RFC 9971, section 4.2.2: nothing guarantees that a search ends. This does, and no search of a device that holds
still comes near."""


@dataclass(frozen=True)
class Goal:
    """A search goal (RFC 9971, section 4.6.7). The defaults are those of FD.io CSIT: 21 trials of a second, of which
    half may lose more than `loss_ratio`, and 0.5% of width
    (https://csit.fd.io/cdocs/methodology/measurements/data_plane_throughput/mlr_search/).

    Raises UserError for values that the RFC excludes (sections 4.6.1 to 4.6.6) and for an initial duration above the
    final one.
    """

    name: str
    loss_ratio: float
    """A trial that loses a larger share is a high-loss trial; 0 or more, below 1."""
    exceed_ratio: float = 0.5
    """The share of the trials' time at a lower bound that may be high-loss; 0 or more, below 1."""
    width: float = 0.005
    """Upper less lower bound, as a share of the upper one, at which the goal is reached; above 0, below 1."""
    initial_trial_duration_s: float = 1.0
    """The shortest trials that this goal asks for."""
    final_trial_duration_s: float = 1.0
    """A lower bound needs trials of this length."""
    duration_sum_s: float = 21.0
    """Trial time, in trials of the final length, that settles a load."""
    latency: Objective | None = None
    """A trial that does not show it met fails the goal, as a high-loss trial does; None: loss alone decides. The RFC has no such
    attribute and allows further ones (section 4.6.7)."""

    def __post_init__(self) -> None:
        for name in ("loss_ratio", "exceed_ratio"):
            self._check(name, 0 <= getattr(self, name) < 1, "at least 0 and below 1")
        self._check("width", 0 < self.width < 1, "above 0 and below 1")
        for name in ("initial_trial_duration_s", "final_trial_duration_s", "duration_sum_s"):
            self._check(name, 0 < getattr(self, name) < math.inf, "above 0")
        shorter = self.initial_trial_duration_s <= self.final_trial_duration_s
        self._check("initial_trial_duration_s", shorter, f"at most the final one, {self.final_trial_duration_s:g}")

    def _check(self, name: str, right: bool, remedy: str) -> None:
        if not right:
            raise UserError(f"goal {self.name}: {name} is {getattr(self, name):g}", remedy=remedy)


NDR = Goal("NDR", loss_ratio=0.0)
"""Non-drop rate: no loss in the better half of the trials."""
PDR = Goal("PDR", loss_ratio=0.005)
"""Partial drop rate: at most 0.5% lost in the better half of the trials."""
THROUGHPUT = Goal(
    "throughput", 0.0, exceed_ratio=0.0, initial_trial_duration_s=60.0, final_trial_duration_s=60.0, duration_sum_s=60.0
)
"""Unconditionally compliant with RFC 2544, section 24 (RFC 9971, section 4.10.2)."""


@dataclass(frozen=True)
class Limits:
    """Bounds of a search: its loads and its time. Loads in the unit of the trials, times in seconds.

    Raises UserError unless 0 < min_load < max_load and the others are above 0.
    """

    min_load: float
    """Large enough that the shortest trial sends something (RFC 9971, section 4.6.8.2)."""
    max_load: float
    """Preferably the highest load that the generator offers without a device (RFC 9971, section 4.9.1)."""
    time_s: float | None = None
    """No trial starts that would end later; overheads count as the trials report them (`TrialResult.took_s`)."""
    trials: int = MOST_TRIALS
    """Including excluded trials."""
    excluded: int = 3
    """Number of excluded trials in a row after which the search stops."""

    def __post_init__(self) -> None:
        if not 0 < self.min_load < self.max_load < math.inf:
            raise UserError(
                f"a search from {self.min_load:g} to {self.max_load:g}", remedy="a min_load above 0 and below max_load"
            )
        for name in ("time_s", "trials", "excluded"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise UserError(f"{name} is {value:g}", remedy="above 0")
