"""What a call costs and what a packet: least squares over the sums that a window keeps."""

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.measure.validity import call_cost

STAGE = next(line for line in sample.engine_lines(sample.plan()) if line.type == "window").stages[0]


def of_calls(calls, stall=0):
    """A stage's window of calls of (packets, ticks)."""
    return STAGE.model_copy(
        update={
            "timed_work_calls": len(calls),
            "timed_objects": sum(n for n, _ in calls),
            "timed_objects_squared": sum(n * n for n, _ in calls),
            "timed_objects_cycles": sum(n * c for n, c in calls),
            "busy_cycles": sum(c for _, c in calls) + stall,
            "stall_cycles": stall,
        }
    )


@examples(25)
@given(st.integers(0, 10**6), st.integers(0, 10**5), st.sets(st.integers(1, 512), min_size=2, max_size=9))
def test_a_line_is_found_exactly(a, b, sizes):
    found = call_cost([of_calls([(n, a + b * n) for n in sizes] * 50, stall=77)])
    assert found is not None
    assert found.call == pytest.approx(a, abs=1e-6 * (a + 512 * b) + 1e-6)
    assert found.packet == pytest.approx(b, abs=1e-6 * (a + 512 * b) + 1e-6)


def test_windows_are_one_sample():
    alike = [of_calls([(n, 100 + 7 * n)] * 200) for n in (1, 32)]
    assert all(call_cost([window]) is None for window in alike), "each alone has calls of one size"
    both = call_cost(alike)
    assert both is not None and (both.call, both.packet) == (pytest.approx(100), pytest.approx(7))


@examples(25)
@given(st.integers(1, 512), st.lists(st.integers(1, 10**6), min_size=2, max_size=9))
def test_calls_of_one_size_tell_nothing(size, ticks):
    assert call_cost([of_calls([(size, each) for each in ticks] * 50)]) is None


def test_nor_do_few_calls_or_a_record_without_the_sums():
    assert call_cost([of_calls([(1, 10), (2, 20)] * 49)]) is None
    assert call_cost([of_calls([(1, 10), (2, 20)] * 50)]) is not None
    unknown = dict.fromkeys(("timed_work_calls", "timed_objects_squared", "timed_objects_cycles"))
    earlier = STAGE.model_copy(update=unknown)
    assert call_cost([of_calls([(1, 10), (2, 20)] * 50), earlier]) is None
