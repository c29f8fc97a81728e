"""What pairs show: the scatter of all trials, and a level for all looks together."""

import random
from statistics import fmean

import pytest

from windtunnel.stats.looks import LEVEL, MOST_PAIRS, look


def test_without_scatter_nothing_is_shown():
    assert look([0.5], []).low is None and not look([0.5], []).decided
    assert not look([0.5, 0.6], [[0.1]]).decided, "one pair of another trial has no scatter"
    assert look([0.5], []).difference == 0.5


def test_the_scatter_of_other_trials_decides_with_one_pair():
    quiet = [[0.0, 0.01, -0.01, 0.005, -0.005, 0.0]]
    assert look([-0.5], quiet).worse and not look([0.5], quiet).decided, "better is what its own pairs show"
    assert look([0.5, 0.51, 0.49], quiet).better
    assert not look([0.005], quiet).decided
    noisy = [[0.3, -0.3, 0.2, -0.25]]
    assert not look([-0.5], noisy).decided


def test_more_pairs_narrow_the_interval():
    others = [[0.0, 0.02, -0.02, 0.01]]
    widths = [(found.high or 0) - (found.low or 0) for n in range(1, 7) if (found := look([0.01, -0.01] * n, others))]
    assert widths == sorted(widths, reverse=True)


def test_of_trials_without_a_difference_few_are_decided():
    """All looks of a trial together are wrong in at most LEVEL of them; some of the slack is Bonferroni's."""
    dice = random.Random(7)
    count, wrong = 1500, 0
    for _ in range(count):
        own: list[float] = []
        earlier = [[dice.gauss(0, 0.02) for _ in range(MOST_PAIRS)]]
        for _ in range(MOST_PAIRS):
            own.append(dice.gauss(0, 0.02))
            if look(own, earlier).decided:
                wrong += 1
                break
    assert wrong / count <= LEVEL


@pytest.mark.parametrize("true", [-0.1, 0.1])
def test_a_difference_of_five_spreads_is_found_with_few_pairs(true):
    dice = random.Random(3)
    pairs = []
    for _ in range(200):
        own: list[float] = []
        others = [[dice.gauss(0, 0.02) for _ in range(6)] for _ in range(3)]
        while len(own) < MOST_PAIRS:
            own.append(dice.gauss(true, 0.02))
            found = look(own, others)
            if found.decided:
                break
        assert not (found.better if true < 0 else found.worse)
        pairs.append(len(own))
    assert fmean(pairs) < (2 if true < 0 else 4)


def test_a_candidate_that_scatters_is_rarely_called_better():
    """One of five that scatters four times as much. By the scatter of all trials it was called better in 26% of them, and worse likewise."""
    dice, better = random.Random(11), 0
    for _ in range(600):
        quiet = [[dice.gauss(0, 0.01) for _ in range(MOST_PAIRS)] for _ in range(4)]
        own: list[float] = []
        while len(own) < MOST_PAIRS:
            own.append(dice.gauss(0, 0.04))
            if (found := look(own, quiet)).decided:
                better += found.better
                break
    assert better / 600 <= LEVEL / 2
