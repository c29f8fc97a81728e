"""From which size on a copier would pay for a program's copies."""

from dataclasses import replace

import pytest
from program_samples import measured, size

from windtunnel.parts.copies.program_gain import LEAST_COMPARED, gain_of
from windtunnel.parts.copies.program_page import GROUPS

NS_A_BYTE = 0.1


def sizes(*numbers: int, copies: int = 10):
    return [size(number, copies, NS_A_BYTE * (1 << number - 1), timed=copies) for number in numbers]


def test_a_copier_pays_from_where_each_larger_size_costs_the_program_more():
    gain = gain_of(sizes(9, 12, 14, 15, 20), measured(caller=1000.0, whole=0.2))
    assert gain.working.from_bytes == 16384
    assert gain.working.freed_ns == pytest.approx(10 * (0.1 * 16384 - 1000) + 10 * (0.1 * (1 << 19) - 1000))
    assert gain.waiting.from_bytes is None and gain.waiting.freed_ns == 0


def test_a_size_that_does_not_pay_ends_what_pays():
    cheap = size(21, 10, ns=1.0, timed=10)
    assert gain_of([*sizes(20), cheap, *sizes(22)], measured(1000.0, 0.2)).working.from_bytes == 1 << 21
    assert gain_of([*sizes(20), cheap], measured(1000.0, 0.2)).working.from_bytes is None


def test_a_program_that_waits_pays_for_the_whole_copy():
    gain = gain_of(sizes(12, 20), measured(caller=1.0, whole=0.05))
    assert gain.waiting.from_bytes == 2048
    assert gain.waiting.freed_ns == pytest.approx(10 * 0.05 * (2048 + (1 << 19)))


def test_a_loop_of_the_cpu_has_nobody_who_works_on():
    gain = gain_of(sizes(20), measured(caller=1000.0, whole=99.0, engine="cpu_nt", cpu=None))
    assert gain.waiting == gain.working and gain.waiting.from_bytes == 1 << 19


def test_a_copy_beyond_the_measured_sizes_costs_as_the_last_ones_rise():
    [cost] = gain_of(sizes(25), measured(caller=1000.0, whole=0.2)).costs
    assert (cost.caller, cost.whole) == pytest.approx((1000, 0.2 * (1 << 24)))


def test_sizes_below_the_measured_ones_or_hardly_timed_are_left_out():
    hardly = size(12, 1000, 100.0, timed=LEAST_COMPARED - 1)
    enough = size(13, 1000, 100.0, timed=LEAST_COMPARED)
    left = gain_of([*sizes(8), *sizes(9), hardly, enough], measured(1000.0, 0.2)).costs
    assert [cost.size.number for cost in left] == [9, 13]


def test_a_size_that_is_not_shown_to_cost_more_does_not_pay():
    """Its mean does, by one timed copy with a page fault."""
    alike = size(13, 1000, ns=400.0, timed=GROUPS * 3)
    faulty = replace(alike, timed=((3, 60_000.0), *alike.timed[1:]))
    copier = measured(caller=1000.0, whole=0.2)
    [cost] = gain_of([faulty], copier).costs
    assert cost.program > cost.caller > cost.program_least
    assert gain_of([faulty], copier).working.from_bytes is None
