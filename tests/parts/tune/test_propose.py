"""Candidates: new, legal, the same again from the same trials."""

import random

import pytest
from fake_runs import FAKE
from scenario_tools import engine, machine
from tuning_tools import SCENARIO, SPACE, settings_of, surface

from windtunnel.parts.tune.propose import TrialSample, importances, study_of, suggest
from windtunnel.parts.tune.space import from_file


@pytest.fixture
def space(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO)
    (tmp_path / "space.toml").write_text('constraints = ["inflight >= 4 * batch"]\n' + SPACE)
    with engine(str(FAKE)):
        yield from_file(tmp_path / "echo.toml", tmp_path / "space.toml", (), machine())


def seen_of(space, count, seed=1):
    points = list(space.drawn(random.Random(seed), count))
    return [TrialSample(point, (surface(settings_of(space.sets(point))),)) for point in points]


def test_the_same_trials_give_the_same_candidate(space):
    seen = seen_of(space, 20)
    worth = {each.point for each in seen}.isdisjoint

    def new(point):
        return worth([point]) and space.refused(point) is None

    first = suggest(space, seen, new, (3, 3, 2), seed=5)
    assert first is not None and new(first)
    assert suggest(space, seen, new, (3, 3, 2), seed=5) == first
    assert {suggest(space, seen, new, (3, 3, 2), seed=n) for n in range(8)} != {first}


def test_the_model_looks_where_it_was_good(space):
    """Of its suggestions after 30 trials more are near the best than of points at random."""
    seen = seen_of(space, 30)

    def legal(point):
        return space.refused(point) is None

    def value(point):
        return surface(settings_of(space.sets(point)))

    points = [suggest(space, seen, legal, (3, 3, 2), seed=n) for n in range(20)]
    at_random = list(space.drawn(random.Random(9), 60))
    assert sorted(map(value, points))[10] > sorted(map(value, at_random))[30]


def test_few_factors_of_the_incumbent_change_at_once(space):
    near = (5, 0, 3)
    for changed in (1, 2):
        points = [
            suggest(space, seen_of(space, 30), lambda point: True, near, seed=n, changed=changed) for n in range(12)
        ]
        assert max(sum(a != b for a, b in zip(near, point, strict=True)) for point in points) == changed


def test_a_used_up_space_has_no_candidate(space):
    assert suggest(space, [], lambda point: False, (3, 3, 2), seed=1) is None


def test_the_last_point_is_found(space):
    (last,) = space.drawn(random.Random(4), 1)
    assert suggest(space, [], lambda point: point == last, (3, 3, 2), seed=1) == last


def test_what_misses_the_slo_is_known_to_the_model(space):
    study = study_of(space.factors, [TrialSample((1, 1, 1), (0.0,), 0.5), TrialSample((2, 1, 1), (-1.0,), -0.5)])
    assert [trial.constraints for trial in study.trials] == [{"violation": 0.5}, {"violation": -0.5}]
    assert study.best_trial.params == {"inflight": 2, "batch": 1, "ring": 1}


def test_the_factor_that_decides_is_the_most_important(space):
    points = list(space.drawn(random.Random(2), 60))
    dice = random.Random(3)
    seen = [TrialSample(point, (float(point[0] >= 4) + dice.gauss(0, 0.01),)) for point in points]
    shares = importances(space.factors, seen)
    assert max(shares, key=shares.__getitem__) == "inflight"
    assert importances(space.factors, seen[:11]) == {}
    same_ring = [TrialSample((*each.point[:2], 1), each.values) for each in seen]
    assert set(importances(space.factors, same_ring)) == {"inflight", "batch"}, "nobody knows what the ring would do"
    assert importances(space.factors, [TrialSample(point, (1.0,)) for point in points]) == {}
