"""Benches: rounds are compared within one state of the host."""

import itertools
from argparse import Namespace

import pytest
from bench_tools import Noise, Rounds, Sample, Session, compared

from windtunnel.errors import UserError
from windtunnel.host.states import Where

NEAR, FAR = Where("one-l3", 91.0), Where("two-l3s", 425.0)


@pytest.fixture
def session(capsys):
    with Session(Namespace(pairs=6, together=False), "no-huge") as session:
        yield session


def sample(value, where=NEAR, lost=0.0):
    return Sample(value, Noise(lost, None), where=where)


def rounds(session, *given) -> Rounds:
    """Of these samples, `ours` and `reference` of each round; the last round comes again and again."""
    taken = itertools.chain(given, itertools.repeat(given[-1]))
    return session.rounds(lambda: dict(zip(("ours", "reference"), next(taken), strict=True)), "pps")


def test_a_ratio_is_of_the_state_with_the_most_pairs(session):
    """On two L3s ours is twice as fast, on one L3 as fast as the reference."""
    near, far, mixed = (sample(4.0), sample(4.0)), (sample(2.0, FAR), sample(1.0, FAR)), (sample(4.0), sample(1.0, FAR))
    found = rounds(session, far, far, mixed, near)
    result = compared(session, "it", found, "ours", "reference", "pps")
    assert (result.spread.median, result.spread.low, result.spread.high, result.spread.samples) == (1, 1, 1, 6)
    assert result.states == "6 pairs on one-l3, 2 on two-l3s, 1 dropped"
    assert [each.value for each in found.set_aside["ours"]] == [2.0, 2.0, 4.0]


def test_a_reference_without_states_goes_with_ours(session):
    found = rounds(session, (sample(2.0, FAR), sample(1.0, Where())), (sample(4.0), sample(4.0, Where())))
    assert compared(session, "it", found, "ours", "reference", "pps").spread.median == 1
    assert found.states == "6 pairs on one-l3, 1 on two-l3s"


def test_rounds_that_lost_time_are_set_aside_as_before(session):
    found = rounds(session, (sample(1.0, lost=0.5), sample(1.0)), (sample(2.0), sample(1.0)))
    assert [each.value for each in found.kept["ours"]] == [2.0] * 6 and len(found.set_aside["ours"]) == 1
    unknown = rounds(session, (sample(2.0, Where()), sample(1.0, Where())))
    assert unknown.states == "" and len(unknown.kept["ours"]) == 6


def test_a_host_that_never_stays_in_a_state_has_no_ratio(session):
    found = rounds(session, (sample(4.0), sample(1.0, FAR)))
    assert found.states == "18 pairs dropped"
    with pytest.raises(UserError, match="the host's state changed in every round: 18 pairs dropped"):
        compared(session, "it", found, "ours", "reference", "pps")
