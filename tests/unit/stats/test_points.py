"""Points in blocks: levels and differences without what a block has in common, of all points together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.stats.points import points_in_blocks


def rows_of(table):
    return [dict(enumerate(row)) for row in np.asarray(table).tolist()]


@examples(20)
@given(st.integers(2, 6), st.integers(2, 5), st.integers(0, 1000))
def test_a_whole_table_is_as_the_analysis_of_variance_has_it(points, blocks, seed):
    from scipy.stats import studentized_range

    table = np.random.default_rng(seed).normal(0, 1, (points, blocks))
    found = points_in_blocks(rows_of(table))
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    freedom = (points - 1) * (blocks - 1)
    deviation = np.sqrt((rest**2).sum() / freedom)
    assert found.levels == pytest.approx(table.mean(axis=1)) and found.freedom == freedom
    assert found.deviation == pytest.approx(deviation)
    expected = studentized_range.ppf(0.95, points, freedom) * deviation / np.sqrt(blocks)
    assert found.margin_between(0, 1) == pytest.approx(expected, rel=1e-6)


def test_what_a_block_has_in_common_is_no_scatter():
    random = np.random.default_rng(1)
    table = random.normal(0, 0.01, (9, 3)) + random.normal(0, 0.3, (1, 3))
    assert points_in_blocks(rows_of(table)).deviation < 0.02


def test_a_missing_run_is_no_difference():
    """A point that lacks the slow block is not faster."""
    table = rows_of([[0.0, 1.0, 5.0], [0.0, 1.0, 5.01], [0.01, 1.0, 5.0]])
    del table[0][2]
    found = points_in_blocks(table)
    assert found.levels == pytest.approx([2.0, 2.0, 2.0], abs=0.02)


def test_a_single_point_has_an_interval_and_single_values_have_none():
    found = points_in_blocks([{0: 1.0, 1: 2.0, 2: 3.0}])
    assert (
        found.levels[0] == 2 and found.freedom == 2 and found.margins[0] == pytest.approx(4.303 / np.sqrt(3), rel=1e-3)
    )
    assert points_in_blocks([{0: 1.0}, {0: 2.0}]) is None
    assert points_in_blocks([{0: 1.0, 1: 1.1}, {2: 2.0, 3: 2.1}]) is None, "no block in common"


@pytest.mark.parametrize("points", [9, 27, 100])
def test_the_interval_of_the_best_of_many_holds(points):
    """Of points that are alike. That of a single point held in 79, 55 and 10% of the studies."""
    random, holds = np.random.default_rng(points), 0
    for _ in range(150):
        found = points_in_blocks(rows_of(random.normal(0, 1, (points, 3))))
        best = int(np.argmax(found.levels))
        holds += abs(found.levels[best]) <= found.margins[best]
    assert holds >= 0.91 * 150


def test_the_best_of_like_points_is_rarely_called_different():
    random, told = np.random.default_rng(1), 0
    for _ in range(200):
        found = points_in_blocks(rows_of(random.normal(0, 0.05, (12, 3))))
        second, best = np.argsort(found.levels)[-2:]
        told += found.levels[best] - found.levels[second] > found.margin_between(best, second)
    assert told <= 0.05 * 200


def test_a_best_point_is_found_although_the_host_changes_from_block_to_block():
    random, told = np.random.default_rng(2), 0
    for _ in range(100):
        table = random.normal(0, 0.01, (9, 5)) + random.normal(0, 0.05, (1, 5))
        table[3] += 0.04
        found = points_in_blocks(rows_of(table))
        second, best = np.argsort(found.levels)[-2:]
        told += best == 3 and found.levels[best] - found.levels[second] > found.margin_between(best, second)
    assert told >= 80
