"""Runs are compared within one state of the host."""

from types import SimpleNamespace

import pytest

from windtunnel.measure.compare.host_states import in_common_state, no_common_state, same_state


def reading(state, line_ns=None):
    return SimpleNamespace(state=state, line_ns=line_ns)


NEAR, FAR, UNKNOWN = reading("one-l3", 91.0), reading("two-l3s", 425.0), reading(None)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (NEAR, NEAR, True),
        (NEAR, FAR, False),
        (NEAR, UNKNOWN, True),
        (UNKNOWN, UNKNOWN, True),
        (reading("one-level", 95.0), NEAR, True),
        (reading("one-level", 400.0), NEAR, False),
        (reading("one-level", 400.0), reading("one-level", 90.0), False),
        (reading("one-l3", 91.0), reading("one-l3, sibling busy", 91.0), False),
        (reading("one worker"), reading("one worker"), True),
    ],
)
def test_states_are_the_same_by_name_or_by_the_round_trip(a, b, same):
    assert same_state(a, b) is same_state(b, a) is same


def test_the_state_that_most_runs_share_is_taken():
    assert in_common_state([NEAR, NEAR, FAR], [FAR, NEAR, NEAR]) == ([NEAR, NEAR], [NEAR, NEAR])


def test_without_a_common_state_the_reason_names_both():
    assert no_common_state([NEAR, NEAR], [FAR]) == (
        "host state: A ran on one-l3, B on two-l3s. Compare two scenarios, so that their runs alternate"
    )
    assert no_common_state([NEAR, FAR], [FAR]) is None
