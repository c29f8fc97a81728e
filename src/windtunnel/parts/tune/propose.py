"""The next candidate, once there are no first moves left: what optuna's model of the trials suggests.

optuna keeps nothing here: its study is made again from the trials, in memory, for each candidate. The seed of a candidate is that of the
tuning and its number, so a tuning that continues comes to the same candidates.
"""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.measure.study.constraints import Combination
from windtunnel.measure.study.factors import Factor
from windtunnel.parts.tune.space import DRAWN, Space, is_ordered

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler

VIOLATION = "violation"
CHANGED = 3
"""Factors of the incumbent that a suggestion changes: settings that are good in most factors are not all thrown away for one trial. On
made-up surfaces of 15 factors 3 were better than all if most of the file's values are good, and hardly worse if none is."""
ASKED = 12
"""Suggestions that may be known or illegal before a point is taken near the incumbent, or at random."""
BEST = 0.25
"""Share of the trials that count as the best ones when factors are weighed."""
LEAST_WEIGHED = 12
"""Trials without which factors are not weighed: the best ones would be one or two."""


@dataclass(frozen=True)
class TrialSample:
    """A trial as the model of the trials gets it."""

    point: Combination
    values: tuple[float, ...]
    """One value for each objective; higher is better."""
    violation: float | None = None
    """Distance from the SLO; above 0: it failed, or misses the SLO. None: there is no SLO."""


Worth = Callable[[Combination], bool]
"""Whether a point is new, can run here, and can be better than the incumbent."""


def suggest(
    space: Space,
    samples: Sequence[TrialSample],
    worth: Worth,
    near: Combination,
    seed: int,
    objectives: int = 1,
    changed: int | None = CHANGED,
) -> Combination | None:
    """A point that is worth a trial; None if there is none left, as far as can be seen. `changed`: factors in which it may differ from
    `near`; None: all."""
    from optuna.trial import TrialState

    from windtunnel.parts.tune.sampler import Near

    search_space = distributions(space.factors)
    kept = {} if changed is None else dict(zip(search_space, near, strict=True))
    study = study_of(space.factors, samples, objectives, Near(kept, changed or 0, seed))
    for _ in range(ASKED):
        trial = study.ask(search_space)
        point = tuple(int(trial.params[name]) for name in search_space)
        if worth(point):
            return point
        if space.refused(point) is not None:
            trial.set_constraint("runs here", 1.0)
            study.tell(trial, state=TrialState.PRUNED)
        else:
            study.tell(trial, state=TrialState.FAIL)
    dice, around = random.Random(seed), list(space.neighbours(near))
    dice.shuffle(around)
    return next(filter(worth, itertools.chain(around, space.drawn(dice, DRAWN))), None)


def study_of(
    factors: Sequence[Factor], samples: Sequence[TrialSample], objectives: int = 1, sampler: "BaseSampler | None" = None
) -> "Study":
    """The trials as a study of optuna."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["maximize"] * objectives, sampler=sampler)
    search_space = distributions(factors)
    for sample in samples:
        study.add_trial(
            optuna.trial.create_trial(
                values=list(sample.values),
                params=dict(zip(search_space, sample.point, strict=True)),
                distributions=search_space,
                constraints=None if sample.violation is None else {VIOLATION: sample.violation},
            )
        )
    return study


def distributions(factors: Sequence[Factor]) -> "dict[str, BaseDistribution]":
    """Positions in the levels: an order if the levels are numbers, else none."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    def distribution_of(factor: Factor) -> "BaseDistribution":
        count = len(factor.levels.members)
        return IntDistribution(0, count - 1) if is_ordered(factor) else CategoricalDistribution(list(range(count)))

    return {factor.name: distribution_of(factor) for factor in factors}


def importances(factors: Sequence[Factor], samples: Sequence[TrialSample]) -> dict[str, float]:
    """Share of each factor in what makes a trial one of the best, by PED-ANOVA (S. Watanabe et al., IJCAI 2023), of those factors that the
    trials changed; empty if the trials are too few to tell."""
    import optuna

    changed = [n for n in range(len(factors)) if len({sample.point[n] for sample in samples}) > 1]
    if len(samples) < LEAST_WEIGHED or not changed or len({sample.values[0] for sample in samples}) < 2:
        return {}
    samples_of_changed = [TrialSample(tuple(sample.point[n] for n in changed), sample.values[:1]) for sample in samples]
    study = study_of([factors[n] for n in changed], samples_of_changed)
    evaluator: Any = optuna.importance.PedAnovaImportanceEvaluator(target_quantile=BEST)
    shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in shares.items()}
