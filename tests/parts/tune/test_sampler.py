"""The sampler of candidates, as optuna asks it of every sampler, and what is its own: few parameters leave the incumbent."""

import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from windtunnel.parts.tune.sampler import Near


class OfOptuna:
    @pytest.fixture
    def sampler(self):
        return lambda: Near({}, 3, seed=1)


class TestBasic(OfOptuna, BasicSamplerTestCase):
    pass


class TestRelative(OfOptuna, RelativeSamplerTestCase):
    pass


class TestObjectives(OfOptuna, MultiObjectiveSamplerTestCase):
    pass


NAMES = tuple("abcdef")
SPACE = {name: optuna.distributions.IntDistribution(0, 9) for name in NAMES}


def asked(near, changed, trials=12, seed=1):
    """Parameters of the next trials of a study that has seen one already."""
    study = optuna.create_study(sampler=Near(near, changed, seed))
    study.add_trial(optuna.trial.create_trial(value=1.0, params=dict.fromkeys(NAMES, 5), distributions=SPACE))
    found = []
    for _ in range(trials):
        trial = study.ask(SPACE)
        study.tell(trial, float(sum(trial.params.values())))
        found.append(trial.params)
    return found


@pytest.mark.parametrize("changed", [1, 3])
def test_few_parameters_leave_the_incumbent_and_not_always_the_same(changed):
    near = dict.fromkeys(NAMES, 5)
    moved = [{name for name in NAMES if params[name] != 5} for params in asked(near, changed)]
    assert max(map(len, moved)) == changed and set.union(*moved) > moved[0]


def test_what_the_incumbent_does_not_say_is_free():
    near = dict.fromkeys(NAMES[1:], 5)
    found = asked(near, 0)
    assert all(params[name] == 5 for params in found for name in NAMES[1:])
    assert len({params["a"] for params in found}) > 3


def test_the_same_seed_suggests_the_same():
    near = dict.fromkeys(NAMES, 5)
    assert asked(near, 3) == asked(near, 3) != asked(near, 3, seed=2)
