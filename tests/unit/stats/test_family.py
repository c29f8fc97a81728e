"""Many differences at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.stats.family import greatest_of_all, holm

LEVEL = 0.01


def pairs_of(random, pairs, metrics, common=0.03):
    """Differences of metrics that go up and down together."""
    return common * random.standard_normal((pairs, 1)) + 0.02 * random.standard_normal((pairs, metrics))


@pytest.mark.parametrize("pairs", [8, 9, 11])
def test_few_pairs_show_a_difference_among_many_metrics(pairs):
    """Holm over 16 metrics cannot: the least p of eight pairs is 2 / 256."""
    differences = pairs_of(np.random.default_rng(pairs), pairs, 16)
    differences[:, 3] = 0.2 + 0.001 * np.arange(pairs)
    (p_values,) = greatest_of_all([differences])
    assert p_values[3] == pytest.approx(2 / 2**pairs) and p_values[3] <= LEVEL
    assert 16 * 2 / 2**pairs > LEVEL


@pytest.mark.parametrize(("groups", "pairs"), [(1, 10), (1, 20), (16, 10)])
def test_without_a_difference_one_in_a_hundred_families_shows_one(groups, pairs):
    random, shown = np.random.default_rng(pairs), 0
    families = 300
    for _ in range(families):
        p_values = greatest_of_all([pairs_of(random, pairs, 1 if groups > 1 else 8) for _ in range(groups)])
        shown += min(min(each) for each in p_values) <= LEVEL
    assert shown <= 10  # 3 are due; more than 10 come about once in 1,000 times


def test_what_lies_within_the_resolution_is_no_difference():
    (p_values,) = greatest_of_all([np.full((10, 2), 1e-5)])
    assert p_values == [1.0, 1.0]


def test_the_order_of_metrics_and_the_sign_do_not_matter():
    differences = pairs_of(np.random.default_rng(1), 10, 5)
    (p_values,) = greatest_of_all([differences])
    (turned,) = greatest_of_all([-differences[:, ::-1]])
    assert turned[::-1] == pytest.approx(p_values)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == [] and holm([0.5, 0.9]) == [1.0, 1.0]


@examples(50)
@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_keeps_the_order_and_never_helps(p_values):
    corrected = holm(p_values)
    assert all(c >= p for c, p in zip(corrected, p_values, strict=True))
    assert sorted(range(len(p_values)), key=lambda i: (p_values[i], i)) == sorted(
        range(len(p_values)), key=lambda i: (corrected[i], p_values[i], i)
    )
