"""Weights, placement and plans: what holds for all of them."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel_sharing.pools.placement import MOVE_GAIN, Lane, place
from windtunnel_sharing.pools.plan import Crew, Machine, Plan, arrange, plan
from windtunnel_sharing.pools.weights import CPU_WEIGHT, Share, dedicated, lanes
from windtunnel_sharing.slicers import Member
from windtunnel_sharing.slicers.slicer import check_members

NAMES = st.text("abcdefgh", min_size=1, max_size=3)
SHARES = st.dictionaries(NAMES, st.integers(1, 512), max_size=12).map(
    lambda weights: [Share(name, weight, threads=2) for name, weight in weights.items()]
)
ROOMY = Machine(tuple(range(32)), be_least=1)


@pytest.mark.parametrize(
    ("weights", "cpus"), [([], 1), ([1], 1), ([256], 1), ([257], 2), ([128, 64, 32, 16], 1), ([128] * 4, 2)]
)
def test_dedicated_is_what_pvcc_says(weights, cpus):
    assert dedicated(sum(weights)) == cpus


@given(st.integers(1, 1 << 20))
def test_lanes_lose_no_weight_and_fit_a_cpu(weight):
    parts = lanes(weight)
    assert sum(parts) == weight
    assert max(parts) <= CPU_WEIGHT
    assert max(parts) - min(parts) <= 1


@settings(max_examples=50)
@given(SHARES, SHARES)
def test_a_plan_loses_no_weight_and_has_the_right_cores(before, shares):
    previous = plan(before, ROOMY)
    made = plan(shares, ROOMY, previous)
    assert made == plan(shares, ROOMY, previous)
    assert sum(made.loads().values()) == sum(share.weight for share in shares)
    assert len(made.ls) == (dedicated(sum(share.weight for share in shares)) if shares else 0)
    assert set(made.ls) | set(made.be) == set(ROOMY.cpus)
    assert not set(made.ls) & set(made.be)
    assert len(made.be) >= ROOMY.be_least
    assert set(made.places.values()) <= set(made.ls)


@given(SHARES)
def test_the_order_of_the_tenants_does_not_matter(shares):
    assert plan(shares, ROOMY).places == plan(shares[::-1], ROOMY).places


@settings(max_examples=50)
@given(SHARES, SHARES)
def test_the_same_shares_again_move_nobody(before, shares):
    settled = plan(shares, ROOMY, plan(before, ROOMY))
    assert plan(shares, ROOMY, settled).places == settled.places


@settings(max_examples=50)
@given(SHARES.filter(bool))
def test_cores_grow_and_shrink_at_one_end(shares):
    small, large = plan(shares[:1], ROOMY), plan(shares, ROOMY)
    assert large.ls[: len(small.ls)] == small.ls


@given(st.lists(st.integers(1, 256), min_size=1, max_size=7), st.integers(1, 3))
def test_the_fullest_cpu_is_near_the_best_that_can_be(weights, cpus):
    items = [Lane((str(n), 0), weight) for n, weight in enumerate(weights)]
    places = place(items, range(cpus), {})

    def fullest(chosen):
        return max(sum(w for w, cpu in zip(weights, chosen, strict=True) if cpu == c) for c in range(cpus))

    best = min(fullest(chosen) for chosen in product(range(cpus), repeat=len(weights)))
    assert fullest([places[item.key] for item in items]) <= best * (4 / 3) + MOVE_GAIN


def test_a_tenant_stays_where_moving_it_gains_nothing():
    machine = Machine((0, 1, 2))
    shares = [Share("a", 200), Share("b", 150), Share("c", 100)]
    before = plan(shares, machine)
    after = plan([Share("a", 196), *shares[1:]], machine, before)
    assert after.places == before.places


def test_a_plan_that_is_uneven_is_put_right():
    lopsided = Plan((2, 1), (0,), places={("a", 0): 2, ("b", 0): 2, ("c", 0): 2, ("d", 0): 2})
    after = plan([Share(name, 128) for name in "abcd"], Machine((0, 1, 2)), lopsided)
    assert after.loads() == {2: 256, 1: 256}
    assert sum(after.places[key] == 2 for key in lopsided.places) == 2


def weights_of(*crews):
    """Of tenants on one CPU, each with its weight, the number of its threads, and how many of them want CPU: the weights of its threads."""
    made = plan([Share(str(n), weight, threads) for n, (weight, threads, _) in enumerate(crews)], Machine((0, 1)))
    tids = [range(10_000 * n, 10_000 * n + threads) for n, (_, threads, _) in enumerate(crews)]
    given = {
        str(n): Crew(str(n), tuple(mine), frozenset(mine[:busy]))
        for n, ((*_, busy), mine) in enumerate(zip(crews, tids, strict=True))
    }
    ((_, turns),) = arrange(made, given, []).turns.items()
    return [[turns[tid] for tid in mine] for mine in tids]


@pytest.mark.parametrize(("weight", "threads"), [(100, 250), (100, 60), (1, 4000), (255, 7), (3, 2)])
def test_a_tenant_of_many_threads_takes_no_more_and_no_less_than_its_weight(weight, threads):
    other, (one,) = weights_of((weight, threads, 0), (1, 1, 0))
    assert len(set(other)) == 1 and 15 / 16 * weight <= sum(other) / one <= weight
    check_members([Member(tid, each) for tid, each in enumerate([*other, one], 1)])


def test_weights_that_are_whole_numbers_stay_what_they_are():
    assert weights_of((30, 3, 0), (100, 1, 0), (100, 3, 3)) == [[10] * 3, [100], [33] * 3]


def test_threads_that_want_no_cpu_now_and_wake_all_at_once_do_not_multiply_the_weight():
    """One of them polls, and the others wait until that is seen."""
    (busy, *others), (one,) = weights_of((100, 200, 1), (100, 1, 0))
    assert busy == one and sum(others) <= one
    assert weights_of((100, 4, 2)) == [[50, 50, 25, 25]]


def test_three_of_170_cannot_all_have_what_their_weight_says():
    made = plan([Share(name, 170) for name in "abc"], Machine((0, 1, 2)))
    assert list(made.overfull().values()) == [340]


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([Share("a", 257, 1)], "a: a weight of 257 is 1.004 CPUs, and its 1 thread can use 1"),
        ([Share("a", 10**9, 1)], "CPUs, and its 1 thread can use 1"),
        (
            [Share("a", 256), Share("b", 1)],
            "weights of 257 need 2 CPUs, and ls has at most 1, because 1 of 2 stay with be",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_words(shares, words):
    with pytest.raises(UserError) as refused:
        plan(shares, Machine((0, 1)))
    assert words in refused.value.message
    assert "256 is one CPU" in refused.value.remedy
