"""What the CPU would have paid for copies of many sizes."""

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.parts.copies.cpu_costs import cpu_cycles
from windtunnel.parts.copies.ledger import CpuCopies, CpuCopy

SIZES = st.integers(1, 1 << 21)


def measured(*costs: tuple[int, float]) -> CpuCopies:
    return CpuCopies(from_bytes=1, to_places=1, costs=[CpuCopy(bytes=size, cycles=cycles) for size, cycles in costs])


def of(known: CpuCopies, *sizes: int) -> float | None:
    return cpu_cycles(known, sample.histogram(sizes, bits=5))


def test_a_size_that_was_measured_costs_what_was_measured():
    known = measured((64, 20), (128, 30), (1446, 300))
    assert [of(known, size) for size in (64, 128, 1446)] == pytest.approx([20, 30, 300])


def test_between_two_sizes_the_cost_lies_on_a_straight_line():
    assert of(measured((100, 50), (200, 150)), 150) == pytest.approx(100)


def test_beyond_the_measured_sizes_nothing_is_extrapolated():
    known = measured((64, 20), (1024, 200))
    assert of(known, 1) == 20 and of(known, 5000) == 200
    assert of(measured((40, 9)), 40) == 9


def test_copies_of_two_sizes_count_by_their_number():
    known = measured((64, 64), (4096, 4096))
    assert of(known, 64, 64, 64, 4096) == pytest.approx((3 * 64 + 4096) / 4, rel=0.01)


@examples(30)
@given(st.lists(SIZES, min_size=1, max_size=30), st.dictionaries(SIZES, st.floats(1, 1e6), min_size=1, max_size=15))
def test_the_mean_lies_between_the_least_and_the_most_that_was_measured(sizes, costs):
    found = of(measured(*sorted(costs.items())), *sizes)
    assert min(costs.values()) * (1 - 1e-9) <= found <= max(costs.values()) * (1 + 1e-9)


@examples(30)
@given(st.lists(SIZES, min_size=1, max_size=30))
def test_a_cost_that_grows_with_the_size_is_that_of_the_mean_size(sizes):
    """Though the sizes are within 6.25% only."""
    known = measured((1, 2), (1 << 22, (1 << 22) * 2))
    assert of(known, *sizes) == pytest.approx(2 * sum(sizes) / len(sizes), rel=1e-6)
