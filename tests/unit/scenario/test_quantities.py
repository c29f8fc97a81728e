"""Quantities with units: what is read, what is refused, and that writing and reading undo each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.scenario.quantities import UNITS, parse, write


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("duration", "5s", 5_000_000_000),
        ("duration", "500 ms", 500_000_000),
        ("duration", "0.5us", 500),
        ("duration", "2min", 120_000_000_000),
        ("size", "64KiB", 65536),
        ("size", "100KB", 100_000),
        ("size", "1.5KiB", 1536),
        ("size", 86, 86),
        ("rate", "1Mpps", 1e6),
        ("rate", "0.5/s", 0.5),
        ("rate", 5, 5.0),
        ("rate", "2M", 2e6),
        ("rate", "2Mrps", 2e6),
        ("rate", "2 M/s", 2e6),
        ("rate", 2.5, 2.5),
        ("bit rate", "10G", 1e10),
        ("size", "64", 64),
        ("size", "64Ki", 65536),
        ("size", "2M", 2_000_000),
        ("count", "100k", 100_000),
        ("count", 7, 7),
    ],
)
def test_reads(kind, text, value):
    assert parse(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("duration", 5),
        ("duration", "5"),
        ("duration", "5S"),
        ("duration", "-5s"),
        ("duration", "0.1ns"),
        ("duration", "5s "),
        ("duration", "٥s"),
        ("duration", "1e3s"),
        ("size", "1.5B"),
        ("size", "64kib"),
        ("size", True),
        ("size", 1.5),
        ("rate", True),
        ("rate", "1Mbps"),
        ("count", "1 thing"),
        ("count", None),
        ("count", [1]),
        ("count", {}),
    ],
)
def test_refuses(kind, value):
    with pytest.raises(ValueError, match="is not"):
        parse(kind, value)


@given(st.sampled_from(["duration", "size", "count"]), st.integers(0, 10**18 - 1))
def test_whole_numbers_round_trip(kind, value):
    assert parse(kind, write(kind, value)) == value


@given(st.floats(0.001, 1e9))
def test_rates_round_trip(value):
    assert parse("rate", write("rate", value)) == value


@given(st.sampled_from(sorted(UNITS)), st.text())
def test_any_text_is_a_number_or_a_refusal(kind, text):
    try:
        assert parse(kind, text) >= 0
    except ValueError as error:
        assert "is not" in str(error)


def test_quantities_are_written_in_common_units():
    assert [write("duration", value) for value in (5 * 10**9, 5 * 10**8, 1_500_000, 0)] == [
        "5s",
        "500ms",
        "1500us",
        "0ns",
    ]
    assert [write("size", value) for value in (65536, 100_000, 86)] == ["64KiB", "100KB", "86B"]
    assert write("rate", 200_000.0) == "200kpps"
