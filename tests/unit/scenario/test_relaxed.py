"""Validity limits that let more pass than their defaults do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.scenario.validity_keys import Limit, Validity, relaxed

LIMITS = {
    name: (limit, field.default)
    for name, field in Validity.model_fields.items()
    for limit in field.metadata
    if isinstance(limit, Limit)
}


def test_every_limit_says_on_which_side_it_is_relaxed():
    assert {name for name in Validity.model_fields if name.startswith("max_")} <= LIMITS.keys()


def test_the_defaults_are_not_relaxed():
    assert relaxed(Validity().model_dump()) == []


@pytest.mark.parametrize("name", LIMITS)
@given(share=st.floats(0, 1))
def test_a_limit_is_relaxed_above_its_default_and_not_where_it_is_tightened(name, share):
    limit, default = LIMITS[name]
    value = share * (2 * default)
    found = relaxed({name: value})
    assert limit.relaxed == "above"  # all limits of today are upper bounds
    assert [words.partition(" ")[0] for words in found] == ([name] if value > default else [])


def test_the_words_name_value_and_default():
    assert relaxed({"max_drift": 1.0, "max_clock_error": 250}) == [
        "max_drift 100% instead of 10%",
        "max_clock_error 250 ppm instead of 100 ppm",
    ]


def test_values_of_another_kind_are_skipped():
    assert relaxed({"max_drift": "100%", "stolen": 1, "state": "one-l3"}) == []


def test_a_limit_with_a_lower_bound_is_relaxed_below_it():
    assert Limit(relaxed="below").relaxes(1, 2) and not Limit(relaxed="below").relaxes(3, 2)
