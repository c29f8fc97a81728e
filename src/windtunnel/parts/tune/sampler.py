"""optuna's sampler of candidates: as TPE suggests, and near the incumbent."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.search_space import intersection_search_space
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

STARTUP = 8
"""Trials without which TPE suggests at random."""


class Near(BaseSampler):
    """Takes a few of the parameters that TPE suggests; the others have the values in `near`. Parameters that are not in `near`, and those that no
    trial had before, have the values that TPE suggests."""

    def __init__(self, near: Mapping[str, Any], changed: int, seed: int | None = None):
        """`changed`: how many parameters may differ from `near`."""
        self._near, self._changed = near, changed
        self._tpe = TPESampler(seed=seed, n_startup_trials=STARTUP)
        self._dice = random.Random(seed)

    def reseed_rng(self) -> None:
        self._tpe.reseed_rng()
        self._dice.seed()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        known = intersection_search_space(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in known.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        suggested = {
            name: self._tpe.sample_independent(study, trial, name, distribution)
            for name, distribution in search_space.items()
        }
        differing = [name for name, value in suggested.items() if self._near.get(name, value) != value]
        changing = self._dice.sample(differing, min(self._changed, len(differing)))
        return suggested | {name: self._near[name] for name in differing if name not in changing}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._tpe.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._tpe.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._tpe.after_trial(study, trial, state, values)
