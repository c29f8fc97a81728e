"""Runs stand side by side within one state of the host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.host.states import Where, counts, groups, same, sides, words

NEAR, FAR, UNKNOWN = Where("one-l3", 91.0), Where("two-l3s", 425.0), Where()
BUSY = Where("one-l3, sibling busy", 91.0)
ALONE, ALONE_BUSY = Where("one worker"), Where("one worker, sibling busy")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (NEAR, NEAR, True),
        (NEAR, FAR, False),
        (NEAR, UNKNOWN, True),
        (UNKNOWN, UNKNOWN, True),
        (Where("one-level", 95.0), NEAR, True),
        (Where("two-l3s + one-l3", 300.0), Where("one-l3 + two-l3s", 250.0), True),
        (Where("one-level", 400.0), NEAR, False),
        (Where("one-level", 400.0), Where("one-level", 90.0), False),
        (NEAR, BUSY, False),
        (ALONE, ALONE, True),
        (ALONE, FAR, True),
        (ALONE_BUSY, NEAR, False),
        (ALONE_BUSY, BUSY, True),
    ],
)
def test_states_are_the_same_by_name_or_by_the_round_trip(a, b, expected):
    assert same(a, b) is same(b, a) is expected


def found(blocks):
    return [(group.state, group.positions) for group in groups(blocks)]


def test_pairs_are_grouped_by_the_state_of_both_runs():
    blocks = [(FAR, FAR), (NEAR, NEAR), (NEAR, FAR), (NEAR, NEAR), (FAR, FAR), (NEAR, NEAR)]
    assert found(blocks) == [("one-l3", [1, 3, 5]), ("two-l3s", [0, 4])]


def test_a_pair_with_an_unknown_state_is_in_no_group_where_others_are_known():
    assert found([(NEAR, NEAR), (UNKNOWN, NEAR), (NEAR, NEAR)]) == [("one-l3", [0, 2])]


def test_a_side_that_was_never_probed_follows_the_other():
    assert found([(NEAR, UNKNOWN), (FAR, UNKNOWN), (NEAR, UNKNOWN)]) == [("one-l3", [0, 2]), ("two-l3s", [1])]
    assert found([(UNKNOWN, UNKNOWN)] * 2) == [(None, [0, 1])]
    assert found([]) == []


def test_one_worker_joins_whatever_topology_the_others_had():
    assert found([(ALONE, NEAR), (ALONE, FAR), (ALONE, NEAR)]) == [("one-l3", [0, 2]), ("two-l3s", [1])]
    assert found([(ALONE,), (NEAR,), (NEAR,)]) == [("one-l3", [0, 1, 2])]


def test_a_group_has_the_most_telling_name():
    assert found([(Where("one-level", 95.0),), (NEAR,)]) == [("one-l3", [0, 1])]


@given(st.lists(st.tuples(*[st.sampled_from([NEAR, FAR, BUSY, ALONE, UNKNOWN])] * 2), max_size=12))
def test_no_block_is_in_two_groups_and_all_of_a_group_are_alike(blocks):
    seen = [n for group in groups(blocks) for n in group.positions]
    assert len(seen) == len(set(seen)) and set(seen) <= set(range(len(blocks)))
    assert [len(group.positions) for group in groups(blocks)] == sorted(
        (len(group.positions) for group in groups(blocks)), reverse=True
    )
    for group in groups(blocks):
        members = [member for n in group.positions for member in blocks[n]]
        named = {member.state for member in members} - {None, "one worker"}
        assert named <= {group.state}


def test_sides_are_compared_in_the_state_that_both_have_most_of():
    of = sides([NEAR, NEAR, FAR, FAR, FAR], [FAR, NEAR, NEAR])
    assert of == [("one-l3", [NEAR] * 2, [NEAR] * 2), ("two-l3s", [FAR] * 3, [FAR])]
    assert sides([NEAR, NEAR], [FAR])[0][1:] in (([NEAR, NEAR], []), ([], [FAR]))


def test_a_run_of_unknown_state_draws_no_others_together():
    """It must not make one group of two states."""
    assert sides([NEAR, UNKNOWN, FAR], [NEAR, FAR, FAR])[0] == ("two-l3s", [FAR], [FAR, FAR])
    assert sides([UNKNOWN] * 3, [NEAR, FAR, FAR])[0] == ("two-l3s", [UNKNOWN] * 3, [FAR, FAR])
    assert sides([UNKNOWN] * 3, [UNKNOWN]) == [(None, [UNKNOWN] * 3, [UNKNOWN])]


@pytest.mark.parametrize(
    ("numbers", "dropped", "expected"),
    [
        ([("one-l3", 9), ("two-l3s", 4)], 2, "9 pairs on one-l3, 4 on two-l3s, 2 dropped"),
        ([("one-l3", 1)], 0, "1 pair on one-l3"),
        ([(None, 9)], 0, ""),
        ([(None, 9)], 1, "9 pairs of no known state, 1 dropped"),
        ([], 3, "3 pairs dropped"),
        ([], 0, ""),
    ],
)
def test_counts(numbers, dropped, expected):
    assert counts(numbers, dropped, "pairs") == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("one-l3", "one L3"),
        ("two-l3s, sibling busy", "two L3s, sibling busy"),
        ("one-core", "one core"),
        (None, "a state that is not known"),
    ],
)
def test_words(state, expected):
    assert words(state) == expected
