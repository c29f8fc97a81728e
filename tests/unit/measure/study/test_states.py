"""The state of the host as a blocking factor of a study: which rows are compared, which runs are repeated."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.measure.study.states import blocked, budget, to_repeat

NEAR, FAR, ALONE = ("one-l3", 91.0), ("two-l3s", 425.0), ("one worker", None)
UNKNOWN = (None, None)


def record(placements=(), keys=("client.inflight",), state_repeats=0.33, order=((1, 2, 3),) * 3, spread=False):
    """A study of three points; `placements`: the server's CPUs of each."""
    cpus = dict(enumerate(placements, 1))
    return SimpleNamespace(
        factors=[SimpleNamespace(keys=list(keys))],
        order=[list(block) for block in order],
        state_repeats=state_repeats,
        spread=spread,
        point=lambda number: SimpleNamespace(cpus={"server": cpus.get(number, [0])}),
    )


def row(point, repeat, where, valid=True, testbed=None):
    place = {"point": point, "repeat": repeat, "valid": valid, "testbed": testbed}
    return place | {"host_state": where[0], "line_ns": where[1]}


def rows(*by_point):
    return [row(p, r, where) for p, of in enumerate(by_point, 1) for r, where in enumerate(of, 1)]


def missed(found):
    return [(each["point"], each["repeat"]) for each in found.missed]


def test_the_state_that_most_points_share_not_the_one_with_most_runs():
    found = blocked(record(), rows([FAR] * 9, [NEAR] * 3, [NEAR, FAR]))
    assert found.state == "two-l3s"  # two points each, and more runs
    found = blocked(record(), rows([FAR] * 9, [NEAR] * 3, [NEAR] * 3))
    assert found.state == "one-l3" and missed(found) == [(1, n) for n in range(1, 10)]
    assert len(found.rows) == 6


def test_invalid_runs_stay_and_decide_nothing():
    those = [*rows([NEAR, NEAR], [NEAR]), *(row(3, n, FAR, valid=False) for n in range(1, 9))]
    found = blocked(record(), those)
    assert found.state == "one-l3" and found.missed == [] and found.rows == those


BOTH = ("one-l3 + two-l3s", 258.0)
WIDER = ([0], [0], [0, 1])
"""The third point runs on other CPUs, and has a state of its own."""


@pytest.mark.parametrize(
    ("placements", "by_point", "those"),
    [
        # points that are never probed, as their workers share a CPU; a run that was not probed at one that is
        ((), ([UNKNOWN] * 3, [NEAR] * 3, [NEAR, UNKNOWN, FAR]), [(3, 2), (3, 3)]),
        ((), ([ALONE] * 3, [NEAR] * 3, [FAR, NEAR, NEAR]), [(3, 1)]),  # one worker has no topology to miss
        ((), ([NEAR] * 3, [NEAR] * 3, [FAR] * 3), [(3, 1), (3, 2), (3, 3)]),  # always
        (WIDER, ([NEAR] * 3, [NEAR] * 3, [BOTH, BOTH, FAR]), [(3, 3)]),
        (WIDER, ([NEAR] * 3, [NEAR] * 3, [FAR, NEAR, FAR]), [(3, 1), (3, 3)]),
    ],
)
def test_a_run_misses_the_state_of_its_cpus(placements, by_point, those):
    found = blocked(record(placements), rows(*by_point))
    assert found.state == "one-l3" and missed(found) == those


@pytest.mark.parametrize(
    ("keys", "those"),
    [
        (("client.inflight",), rows([UNKNOWN] * 3, [UNKNOWN] * 3)),
        (("client.inflight",), []),
        (("validity.state",), rows([NEAR] * 3, [FAR] * 3)),  # the state is a factor
    ],
)
def test_without_a_state_to_block_by_all_rows_are_compared(keys, those):
    assert blocked(record(keys=keys), those).rows == those


def test_points_with_the_fewest_runs_are_repeated_first():
    turns = [(2, 1), (1, 1), (3, 1), (3, 2), (2, 2), (1, 2), (1, 3), (3, 3), (2, 3)]
    those = rows([NEAR, NEAR, NEAR], [NEAR, FAR, NEAR], [FAR, FAR, FAR])
    assert to_repeat(record(), those, turns) == [(3, 1), (3, 2), (3, 3), (2, 2)]


@pytest.mark.parametrize(("share", "runs"), [(0, 0), (0.33, 3), (1, 9), (10, 90)])
def test_the_budget_is_a_share_of_all_runs(share, runs):
    assert budget(record(state_repeats=share)) == runs


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 3), st.sampled_from([NEAR, FAR, ALONE, UNKNOWN]), st.booleans()),
        unique_by=lambda each: each[:2],
    )
)
def test_rows_are_compared_or_missed_and_none_is_both(given_rows):
    those = [row(*each) for each in given_rows]
    found = blocked(record(), those)
    assert sorted(map(id, [*found.rows, *found.missed])) == sorted(map(id, those))
    assert all(each["valid"] for each in found.missed)
    turns = [(point, repeat) for point in (1, 2, 3) for repeat in (1, 2, 3)]
    assert sorted(to_repeat(record(), those, turns)) == sorted(missed(found))
