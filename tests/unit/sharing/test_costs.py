"""What slicers cost here: kept, damaged or another host's, and what is chosen by it."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.host import levels
from windtunnel.sharing.costs import (
    LEAST_AUTO_NS,
    MOST_AUTO_NS,
    MOST_KEPT,
    Choice,
    Cost,
    Kept,
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


def of(slice_us=150, tenants=4, gaps=(), **costs):
    """A kept probe; costs: the loss of a turn and the p99, both in us."""
    named = {
        name.replace("_", "-"): Cost(turn_ns=turn * 1e3, p99_us=p99, late=[(20_000, 99), (900_000, 1)])
        for name, (turn, p99) in costs.items()
    }
    when = datetime(2026, 11, 23, tzinfo=UTC)
    return Kept(when=when, slice_ns=slice_us * 1000, tenants=tenants, gaps=list(gaps), alone_ns=10**9, costs=named)


def test_the_least_p99_within_the_loss_limit_is_chosen():
    found = of(rotor_far=(10, 459), kicker_far=(14, 530), kicker=(27, 420))
    assert choose([found], 0.08, 150_000) == Choice("rotor-far", 150_000, 459, 10 / 150)
    assert choose([found], 0.2, 150_000).name == "kicker"
    assert choose([found], 0.01, 150_000).name == "rotor-far"  # none keeps it: the least loss
    assert choose([found], 0.08, 150_000, ["kicker", "kicker-far"]).name == "kicker-far"
    assert choose([found], 0.08, 150_000, ["hrtick"]) is None and choose([], 0.08) is None


def test_the_slice_is_the_shortest_that_keeps_the_limit_with_a_reserve():
    found = choose([of(rotor_far=(10, 459))], 0.08)
    assert found == Choice("rotor-far", 135_000, 459 - 3 * 15, 10 / 135)
    assert choose([of(rotor_far=(10, 459), kicker_far=(14, 530))], 0.08).name == "rotor-far"


def test_the_most_that_a_turn_was_seen_to_cost_counts():
    one_l3, two_l3s = of(rotor_far=(10, 459), kicker_far=(14, 530)), of(rotor_far=(12, 470))
    assert choose([one_l3, two_l3s], 0.08, 150_000) == Choice("rotor-far", 150_000, 464.5, 12 / 150)
    assert choose([one_l3, of(rotor_far=(40, 470))], 0.1, 150_000).name == "kicker-far"


def test_the_simulator_has_the_costs_of_the_dearest_probe():
    found = machine([of(rotor_far=(10, 459)), of(rotor_far=(12, 470))], "rotor-far")
    assert (found.switch_ns, found.kick_ns, found.late.mean) == (12_000, 0, 28_800)
    with pytest.raises(KeyError):
        machine([of(kicker=(27, 420))], "rotor-far")


def test_the_simulator_has_the_disturbances_of_all_probes_and_counts_none_twice():
    quiet, busy = of(rotor_far=(10, 459)), of(rotor_far=(12, 470), gaps=GAPS)
    found = machine([quiet, busy], "rotor-far")
    assert found.noise.per_second == 127.5, "255 in two seconds"
    assert found.noise.share == pytest.approx(0.005)
    assert found.switch_ns == 12_000 - 750, "a turn of 150 us loses 0.75 us to them anyway"
    assert {found.noise.lengths.draw(np.random.default_rng(seed)) for seed in range(300)} == {20_000, 1_000_000}


def test_a_turn_costs_what_the_probes_say_without_what_the_host_takes():
    quiet, busy, busier = of(rotor_far=(10, 459)), of(rotor_far=(12, 470), gaps=GAPS), of(rotor_far=(30, 900))
    assert turn_cost_ns([quiet, busy, busier], "rotor-far") == 12_000 - 1500, "1% of a turn of 150 us"
    assert turn_cost_ns([of(rotor_far=(1, 459), gaps=GAPS)], "rotor-far") == 0
    assert turn_cost_ns([quiet], "rotor") == turn_cost_ns([], "rotor") == 0


@given(st.floats(10, 1e6), st.floats(0.001, 0.9))
def test_a_slice_keeps_the_limit_or_is_the_longest(turn_ns, max_loss):
    length = shortest(turn_ns, max_loss)
    assert LEAST_AUTO_NS <= length <= MOST_AUTO_NS
    assert turn_ns / length <= max_loss or length == MOST_AUTO_NS


def test_probes_are_kept_by_cpu_kernel_and_placement(places, monkeypatch):
    assert kept(1) == []
    assert keep(of(rotor_far=(10, 459)), 1) and keep(of(kicker=(27, 420)), 1)
    assert [set(one.costs) for one in kept(1)] == [{"rotor-far"}, {"kicker"}]
    assert kept(0) == [] and kept(1, shield=False) == []
    for _ in range(MOST_KEPT):
        keep(of(kicker=(27, 420)), 1)
    assert len(kept(1)) == MOST_KEPT and all(set(one.costs) == {"kicker"} for one in kept(1))
    monkeypatch.setattr(levels, "identity", lambda host: {"kernel": "another"})
    assert kept(1) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "host": {}, "shield": true, "probes": [1]}']
)
def test_a_damaged_file_is_passed_over_and_written_anew(places, text):
    file_of(1).parent.mkdir(parents=True)
    file_of(1).write_text(text)
    assert kept(1) == []
    assert keep(of(kicker=(27, 420)), 1) and len(kept(1)) == 1


def test_probes_that_cannot_be_kept_are_no_failure(places):
    file_of(1).parent.parent.joinpath("state").write_text("a file where a directory should be")
    assert not keep(of(kicker=(27, 420)), 1)
