"""Constant parts of a series."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.stats.levels import change_points
from windtunnel.stats.segments import segments


def test_steps_beyond_the_noise_are_found_where_they_are():
    values = np.repeat([0.0, 1.0, 0.5], [10, 20, 15]) + np.random.default_rng(1).normal(0, 0.05, 45)
    assert segments(values, 0.01) == [(0, 10), (10, 30), (30, 45)]


def test_a_step_within_the_noise_that_is_always_assumed_is_none():
    values = np.repeat([0.0, 0.02], 10)
    assert segments(values, 0.03) == [(0, 20)]
    assert segments(values, 0.001) == [(0, 10), (10, 20)]


def test_a_rise_is_many_segments_where_levels_sees_noise():
    """Why there are two of them: a ladder rises from one cache to the next over several sizes."""
    logs = np.concatenate([np.zeros(15), np.linspace(0.2, 1.4, 6), np.full(15, 1.6)])
    found = segments(logs, 0.03)
    assert found[0] == (0, 15) and found[-1] == (21, 36) and len(found) > 4
    assert len(change_points(np.exp(logs).tolist())) < 2


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=60), st.floats(1e-3, 1))
def test_segments_cover_all_values(values, noise):
    found = segments(values, noise)
    assert found[0][0] == 0 and found[-1][1] == len(values)
    assert all(a < b for a, b in found) and all(one[1] == next_[0] for one, next_ in pairwise(found))
    assert segments(values[:1], noise) == [(0, 1)]
