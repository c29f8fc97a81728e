"""What slicers cost here: kept, damaged or another host's, and what is chosen by it."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_sharing import probed

from windtunnel.host import levels
from windtunnel_sharing.costs import (
    LEAST_AUTO_NS,
    MOST_AUTO_NS,
    MOST_KEPT,
    Choice,
    choose,
    file_of,
    keep,
    kept,
    machine,
    shortest,
    turn_cost_ns,
)


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(levels, "default_file", lambda: tmp_path / "state" / "host-states.json")


GAPS = [(20_000, 250), (1_000_000, 5)]
"""Of a second of a tenant alone: ticks, and what the host took."""


def test_the_least_p99_within_the_loss_limit_is_chosen():
    found = probed(rotor_far=(10, 459), kicker_far=(14, 530), kicker=(27, 420))
    assert choose([found], 0.08, 150_000) == Choice("rotor-far", 150_000, 459, 10 / 150)
    assert choose([found], 0.2, 150_000).name == "kicker"
    assert choose([found], 0.01, 150_000).name == "rotor-far"  # none keeps it: the least loss
    assert choose([found], 0.08, 150_000, ["kicker", "kicker-far"]).name == "kicker-far"
    assert choose([found], 0.08, 150_000, ["hrtick"]) is None and choose([], 0.08) is None


def test_the_slice_is_the_shortest_that_keeps_the_limit_with_a_reserve():
    found = choose([probed(rotor_far=(10, 459))], 0.08)
    assert found == Choice("rotor-far", 135_000, 459 - 3 * 15, 10 / 135)
    assert choose([probed(rotor_far=(10, 459), kicker_far=(14, 530))], 0.08).name == "rotor-far"


def test_the_most_that_a_turn_was_seen_to_cost_counts():
    one_l3, two_l3s = probed(rotor_far=(10, 459), kicker_far=(14, 530)), probed(rotor_far=(12, 470))
    assert choose([one_l3, two_l3s], 0.08, 150_000) == Choice("rotor-far", 150_000, 464.5, 12 / 150)
    assert choose([one_l3, probed(rotor_far=(40, 470))], 0.1, 150_000).name == "kicker-far"


def test_the_simulator_has_the_costs_of_the_dearest_probe():
    found = machine([probed(rotor_far=(10, 459)), probed(rotor_far=(12, 470))], "rotor-far")
    assert (found.switch_ns, found.kick_ns, found.late.mean) == (12_000, 0, 28_800)
    with pytest.raises(KeyError):
        machine([probed(kicker=(27, 420))], "rotor-far")


def test_the_simulator_has_the_disturbances_of_all_probes_and_counts_none_twice():
    quiet, busy = probed(rotor_far=(10, 459)), probed(rotor_far=(12, 470), gaps=GAPS)
    found = machine([quiet, busy], "rotor-far")
    assert found.noise.per_second == 127.5, "255 in two seconds"
    assert found.noise.share == pytest.approx(0.005)
    assert found.switch_ns == 12_000 - 750, "a turn of 150 us loses 0.75 us to them anyway"
    assert {found.noise.lengths.draw(np.random.default_rng(seed)) for seed in range(300)} == {20_000, 1_000_000}


def test_a_turn_costs_what_the_probes_say_without_what_the_host_takes():
    quiet, busy, busier = (
        probed(rotor_far=(10, 459)),
        probed(rotor_far=(12, 470), gaps=GAPS),
        probed(rotor_far=(30, 900)),
    )
    assert turn_cost_ns([quiet, busy, busier], "rotor-far") == 12_000 - 1500, "1% of a turn of 150 us"
    assert turn_cost_ns([probed(rotor_far=(1, 459), gaps=GAPS)], "rotor-far") == 0
    assert turn_cost_ns([quiet], "rotor") == turn_cost_ns([], "rotor") == 0


@given(st.floats(10, 1e6), st.floats(0.001, 0.9))
def test_a_slice_keeps_the_limit_or_is_the_longest(turn_ns, max_loss):
    length = shortest(turn_ns, max_loss)
    assert LEAST_AUTO_NS <= length <= MOST_AUTO_NS
    assert turn_ns / length <= max_loss or length == MOST_AUTO_NS


def test_probes_are_kept_by_cpu_kernel_and_placement(places, monkeypatch):
    assert kept(1) == []
    assert keep(probed(rotor_far=(10, 459)), 1) and keep(probed(kicker=(27, 420)), 1)
    assert [set(one.costs) for one in kept(1)] == [{"rotor-far"}, {"kicker"}]
    assert kept(0) == [] and kept(1, shield=False) == []
    for _ in range(MOST_KEPT):
        keep(probed(kicker=(27, 420)), 1)
    assert len(kept(1)) == MOST_KEPT and all(set(one.costs) == {"kicker"} for one in kept(1))
    monkeypatch.setattr(levels, "identity", lambda host: {"kernel": "another"})
    assert kept(1) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 3}', '{"version": 2, "host": {}, "shield": true, "probes": [1]}']
)
def test_a_damaged_file_is_passed_over_and_written_anew(places, text):
    file_of(1).parent.mkdir(parents=True)
    file_of(1).write_text(text)
    assert kept(1) == []
    assert keep(probed(kicker=(27, 420)), 1) and len(kept(1)) == 1


def test_probes_that_kept_the_least_p99_of_their_trials_are_passed_over(places):
    """As version 1 of the file did."""
    keep(probed(rotor_far=(10, 459)), 1)
    file_of(1).write_text(file_of(1).read_text().replace('"version": 2', '"version": 1'))
    assert kept(1) == []


def test_probes_that_cannot_be_kept_are_no_failure(places):
    file_of(1).parent.parent.joinpath("state").write_text("a file where a directory should be")
    assert not keep(probed(kicker=(27, 420)), 1)


def test_probes_are_written_through_no_link(places, tmp_path):
    """Root may have the HOME of another user, who knows the names."""
    (tmp_path / "victim").write_text("mine")
    file_of(1).parent.mkdir(parents=True)
    for path in (file_of(1), file_of(1).with_suffix(f".{os.getpid()}")):
        path.symlink_to(tmp_path / "victim")
    assert keep(probed(kicker=(27, 420)), 1) and len(kept(1)) == 1
    assert (tmp_path / "victim").read_text() == "mine"
