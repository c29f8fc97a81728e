"""Looks at many, by a clock that a test moves."""

import pytest

from windtunnel_sharing import rounds
from windtunnel_sharing.rounds import Budget, Budgets, Pace, Rota


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(rounds.time, "monotonic", lambda: now[0])
    return now


def taken(budget, clock, each_s, most=1000):
    """How many are taken that take so long each."""
    count = 0
    for _ in budget.some(range(1000), most):
        count += 1
        clock[0] += each_s
    return count


def test_as_many_as_there_is_time_for_and_then_a_rest_for_as_long(clock):
    budget = Budget(1.0)
    assert taken(budget, clock, 0.25) == 4
    assert taken(budget, clock, 0.25) == 0
    clock[0] += 0.5
    assert taken(budget, clock, 0.25) == 2
    clock[0] += 60
    assert taken(budget, clock, 0.25) == 4, "a long rest makes no longer round"
    clock[0] += 60
    assert taken(budget, clock, 0.0, most=7) == 7


def test_after_one_step_that_took_long_the_rest_is_as_long(clock):
    budget = Budget(1.0)
    assert taken(budget, clock, 30.0) == 1
    clock[0] += 28
    assert taken(budget, clock, 0.0) == 0
    clock[0] += 2
    assert taken(budget, clock, 0.0) == 1000


def test_the_next_of_many_is_not_asked_for_when_the_time_is_over(clock):
    many = iter(range(3))
    for _ in Budget(1.0).some(many, 3):
        clock[0] += 2
    assert list(many) == [1, 2]


def test_without_bounds_all_are_taken(clock):
    assert taken(Budgets().looks, clock, 1e6) == 1000 and Pace(5, Budgets().taken_in_s).room == 5


def test_one_of_each_owner_in_turn_and_of_each_the_one_behind_the_last(clock):
    rota, of = Rota(), {"a": [3, 1, 2], "b": [7], "c": [9, 8]}
    in_turn = list(rota.in_turn(of))
    assert in_turn == [("a", 1), ("b", 7), ("c", 8), ("a", 2), ("c", 9), ("a", 3)]
    first = [next(rota.in_turn(of)) for _ in range(5)]
    assert first == [("b", 7), ("c", 8), ("a", 1), ("b", 7), ("c", 9)]
    assert list(rota.in_turn({"d": [1]})) == [("d", 1)] and next(rota.in_turn(of)) == ("a", 1)


def test_the_pace_follows_what_the_last_ones_took(clock):
    pace = Pace(256, 0.04)
    rooms = []
    for count, seconds in ((256, 0.08), (128, 10.0), (1, 3.0), (1, 0.01), (0, 1.0), (2, 0.01)):
        pace.took(count, seconds)
        rooms.append(pace.room)
    assert rooms == [128, 1, 1, 2, 2, 4]
