"""The order of the runs: complete blocks, drawn from the seed."""

from hypothesis import given
from hypothesis import strategies as st

from windtunnel.measure.study.record import order

POINTS = st.lists(st.integers(1, 500), min_size=1, max_size=60, unique=True)


@given(POINTS, st.integers(1, 10), st.integers(0, 2**63 - 1))
def test_every_repeat_has_every_point_once(points, repeats, seed):
    blocks = order(points, repeats, seed)
    assert len(blocks) == repeats
    assert all(sorted(block) == sorted(points) for block in blocks)
    assert blocks == order(points, repeats, seed)


def test_blocks_have_orders_of_their_own_and_seeds_too():
    points = list(range(1, 21))
    first, second = order(points, 2, 1)
    assert first != second != points
    assert order(points, 2, 1) != order(points, 2, 2)
