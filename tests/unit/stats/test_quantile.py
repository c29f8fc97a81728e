"""Percentiles over windows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from simulated import ar1

from windtunnel.stats.quantile import LEAST_BEYOND, quantile_of

EDGES = np.exp(np.linspace(0, 9, 2000))
NOTHING = np.zeros(40, dtype=int)


def counted(latencies):
    """Of each row, how often each bucket was hit."""
    places = np.searchsorted(EDGES, latencies)
    return np.array([np.bincount(row, minlength=len(EDGES) + 1) for row in places])


def windows(random, correlation, count=40, messages=500):
    """Exponential latencies with a mean of 100, at a level that wanders by 10%."""
    levels = np.exp(0.1 * ar1(random, count, correlation))
    return counted(100 * levels[:, None] * random.exponential(1, (count, messages)))


TRUE = {
    share: np.quantile(
        100
        * np.exp(0.1 * np.random.default_rng(1).normal(size=10**6))
        * np.random.default_rng(2).exponential(1, 10**6),
        share,
    )
    for share in (0.5, 0.99)
}


@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_the_interval_holds_as_often_as_it_says(share, correlation):
    random, holds = np.random.default_rng(3), 0
    for _ in range(200):
        found = quantile_of(windows(random, correlation), NOTHING, share)
        holds += EDGES[found.low - 1] <= TRUE[share] and (found.high is None or TRUE[share] <= EDGES[found.high])
    assert holds >= 0.88 * 200


def test_a_lost_message_is_later_than_any_response():
    """The slowest 0.9% that are lost are beyond p99 as before: it stays where it was."""
    counts = np.zeros((20, 100), dtype=int)
    counts[:, :] = 10
    whole = quantile_of(counts, np.zeros(20, dtype=int), 0.98)
    cut = counts.copy()
    cut[:, 99] = 0
    assert quantile_of(cut, np.full(20, 10), 0.98).at == whole.at == 97
    assert quantile_of(cut, np.full(20, 100), 0.98).at is None
    losing = np.random.default_rng(1).integers(5, 45, 20)
    assert quantile_of(cut, losing, 0.97).at is not None and quantile_of(cut, losing, 0.97).high is None


def test_few_windows_with_something_beyond_have_no_interval():
    counts = np.zeros((40, 3), dtype=int)
    counts[:, 0], counts[: LEAST_BEYOND - 1, 2] = 1000, 200
    assert quantile_of(counts, NOTHING, 0.95).low is None
    counts[LEAST_BEYOND - 1, 2] = 200
    assert quantile_of(counts, NOTHING, 0.95).low is not None


@examples(40)
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4), min_size=1, max_size=30),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_positions_are_in_order_and_those_of_all_messages(rows, share):
    counts = np.array(rows)
    found = quantile_of(counts, np.zeros(len(rows), dtype=int), share)
    total = counts.sum()
    if found.at is None:
        assert total * (1 - share) < 1
        return
    assert counts[:, : found.at].sum() < max(1, np.floor(share * total + 0.5)) <= counts[:, : found.at + 1].sum()
    if found.low is not None:
        assert found.low <= found.at <= (found.high if found.high is not None else found.at)
