"""Forms: each finds its own law, is refused where it does not fit, and is judged by held-out errors."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_studies import ladder_ns
from properties import examples

from windtunnel.errors import UserError
from windtunnel.parts.models import curve, forms, heldout, neighbour, thesis
from windtunnel.parts.models.points import NoFit, Points, World
from windtunnel.parts.models.popularity import misses, ranks_of, shared_misses

SIZES = np.unique(np.round(np.geomspace(10, 1e7, 13)))
RUNGS = np.geomspace(4096, 256 << 20, 65)
WORLD = World([32768.0, 2097152.0], list(RUNGS), list(ladder_ns(RUNGS)))
POINTED = {"kind": "exact", "load": 0.5, "key": [16, 4, 4, 4, 4, 4], "entry": "pointed"}


def points(ns: np.ndarray, sizes: np.ndarray = SIZES) -> Points:
    return Points(sizes, 64 * sizes, ns)


def laws() -> dict[str, np.ndarray]:
    w = 64 * SIZES
    return {
        "flat": np.full_like(SIZES, 33.0),
        "linear": 11 + 0.8 * SIZES,
        "depth": 20 + 3 * np.log2(1 + SIZES),
        "power": 5 + 0.3 * SIZES**0.4,
        "one piece": 50 + 200 * SIZES / (SIZES + 4e4),
        "two pieces": np.where(SIZES < 2e4, 50 + 20 * SIZES / (SIZES + 500), 60 + 300 * SIZES / (SIZES + 3e6)),
        "cache": 20 + 2 * w / (w + 32768) + 8 * w / (w + 2097152) + 50 * w / (w + 1.5e8),
        "ladder": 15 + 0.7 * (WORLD.load_ns(1.7 * w) - WORLD.rung_ns[0]),
    }


@pytest.mark.parametrize("name", list(laws()))
def test_a_form_finds_its_own_law_and_is_chosen(name):
    ns = laws()[name]
    tried = heldout.candidates(points(ns), WORLD)
    own = next(one for one in tried if one.form.name == name)
    fitted = own.form.at(own.parameters, SIZES, 64 * SIZES, WORLD)
    assert np.max(np.abs(fitted / ns - 1)) < 0.01
    assert heldout.chosen(tried).score <= own.judged.score
    assert own.judged.held_out.mape < (0.02 if name != "two pieces" else 0.2)


def test_errors_of_opposite_signs_cancel():
    """Costs half-way between the two forms, in ratios: neither follows them, their mean does."""
    ns = np.sqrt(laws()["cache"] * laws()["ladder"])
    tried = {one.form.name: one for one in heldout.candidates(points(ns), WORLD)}
    both = tried["cache & ladder"]
    assert both.judged.held_out.mape < min(tried["cache"].judged.held_out.mape, tried["ladder"].judged.held_out.mape)
    parts = [tried[name].form.at(tried[name].parameters, SIZES, 64 * SIZES, WORLD) for name in ("cache", "ladder")]
    assert both.form.at(both.parameters, SIZES, 64 * SIZES, WORLD) == pytest.approx(np.sqrt(parts[0] * parts[1]))


@given(st.floats(1, 1e3), st.floats(0, 1e3), st.floats(10, 1e6), st.integers(0, 2**32 - 1))
@examples(20)
def test_one_piece_comes_back_with_noise(base, more, half, seed):
    rng = np.random.default_rng(seed)
    ns = (base + more * SIZES / (SIZES + half)) * np.exp(rng.normal(0, 0.01, len(SIZES)))
    fitted = thesis.cost(thesis.piece(points(ns)), SIZES)
    assert np.mean(np.abs(fitted / ns - 1)) < 0.02


@given(st.lists(st.floats(0.1, 1e5), min_size=4, max_size=13), st.integers(0, 6))
@examples(30)
def test_no_form_goes_below_nothing_or_off_the_numbers(costs, which):
    sizes = SIZES[: len(costs)]
    there = points(np.array(costs), sizes)
    form = heldout.FORMS[which]
    try:
        x = form.fit(there, WORLD)
    except NoFit:
        return
    out = form.at(x, sizes * 3, sizes * 192, WORLD)
    assert np.isfinite(x).all() and (x >= 0).all() and np.isfinite(out).all() and (out >= 0).all()


def test_two_columns_are_solved_as_non_negative_least_squares_does():
    rng = np.random.default_rng(3)
    for _ in range(50):
        column, ns = rng.uniform(0, 5, 8), rng.uniform(1, 9, 8)
        error, a, b = forms.fit_two(column[None, :], ns)
        coefficients, norm = forms.solve([np.ones(8), column], ns)
        assert [a[0], b[0]] == pytest.approx(list(coefficients), abs=1e-6)
        assert error[0] == pytest.approx(norm**2, abs=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, -3.0])
def test_what_is_no_cost_is_refused(bad):
    ns = np.array([*range(20, 20 + len(SIZES))], float)
    ns[4] = bad
    assert all(one.judged is None for one in heldout.candidates(points(ns), WORLD))


def test_too_few_sizes_are_refused_in_words():
    with pytest.raises(NoFit, match="needs 4 sizes, there are 3"):
        thesis.ONE_PIECE.fit(points(np.array([1.0, 2, 3]), SIZES[:3]), WORLD)


def test_without_a_ladder_there_are_no_forms_of_caches():
    names = {form.name for form in heldout.FORMS} - {form.name for form in heldout.usable(World().with_table(POINTED))}
    assert names == {"cache", "ladder", "cache & ladder", "cache & parts"}


def test_a_form_that_is_asked_for_is_tried_beside_those_to_choose_from():
    world = WORLD.with_table(POINTED)
    chosen = heldout.usable(world)
    assert thesis.TWO_PIECES not in chosen
    assert curve._forms(world, "two pieces") == [*chosen, thesis.TWO_PIECES]
    assert curve._forms(world, None) == curve._forms(world, "flat") == chosen
    with pytest.raises(UserError, match="--form steps: not a form") as refused:
        curve._forms(world, "steps")
    assert "two pieces" in refused.value.remedy
    with pytest.raises(UserError, match="--form cache: not a form"):
        curve._forms(World().with_table(POINTED), "cache")


def test_a_lookup_in_a_hash_touches_a_bucket_a_key_and_what_it_points_to():
    """A million keys of 16 bytes at half the load: 2^21 places in buckets of 8 and 64 bytes, keys at 32, entries at 64."""
    buckets, keys, entries = WORLD.with_table(POINTED).touched(np.array([1e6]))
    assert (buckets[0], keys[0], entries[0]) == (2**21 / 8 * 64, 32e6, 64e6)
    assert len(WORLD.with_table(POINTED | {"entry": "inline"}).touched(SIZES)) == 2
    assert (
        WORLD.touched(SIZES) is None
        and WORLD.with_table({"kind": "lpm", "load": 0.5, "key": [4]}).touched(SIZES) is None
    )


def test_parts_are_found_and_hold_beyond():
    world = WORLD.with_table(POINTED)
    waits = [world.load_ns(1.3 * part) - world.rung_ns[0] for part in world.touched(SIZES)]
    ns = 15 + 0.4 * waits[0] + 1.2 * waits[1] + 0.7 * waits[2]
    for known in (points(ns), points(ns).where(SIZES <= 1e6)):
        assert forms.PARTS.at(forms.PARTS.fit(known, world), SIZES, 64 * SIZES, world) == pytest.approx(ns, rel=0.02)
    assert [form.name for form in heldout.usable(world)] == ["flat", "cache & ladder", "cache & parts"]


def test_what_has_a_fixed_depth_is_not_held_to_rise_for_ever():
    for table in (POINTED, {"kind": "lpm"}, {"kind": "ternary", "method": "tss"}):
        assert not any(form.grows for form in heldout.usable(WORLD.with_table(table)))
        assert forms.LINEAR in heldout.usable(
            World().with_table(table)
        )  # no ladder: nothing is known of the furthest memory
    for table in ({}, {"kind": "ternary", "method": "acl"}, {"kind": "ternary", "method": "linear"}):
        assert forms.LINEAR in heldout.usable(WORLD.with_table(table))


def test_held_out_errors_see_what_a_fit_does_not():
    """A point that lies: the fit bends towards it, the held-out error does not forgive it."""
    ns = 11 + 0.8 * SIZES
    ns[6] *= 1.5
    held = heldout.leave_one_out(forms.LINEAR, points(ns), WORLD)
    assert abs(held.errors[6] + 1 / 3) < 0.05
    assert held.most == abs(held.errors[6])


def test_the_choice_is_held_out_too():
    """No size takes part in choosing the form that is asked for it."""
    seen = []

    def fit(there, world):
        seen.append(set(there.entries))
        return forms.LINEAR.fit(there, world)

    spy = forms.Form("linear", "", forms.LINEAR.names, fit, forms.LINEAR.at)
    held = heldout.of_the_choice(points(11 + 0.8 * SIZES), WORLD, [spy])
    assert held.mape < 1e-6
    assert all(len(SIZES) - len(sizes) >= 1 for sizes in seen)


def test_beyond_uses_nothing_above_the_bound():
    ns = laws()["linear"].copy()
    form, held = heldout.beyond(points(ns), WORLD, 1e5)
    changed = ns.copy()
    changed[SIZES > 1e5] *= 2
    same, apart = heldout.beyond(points(changed), WORLD, 1e5)
    assert form is same and held.mape < 0.05
    assert apart.errors == pytest.approx([(1 + e) / 2 - 1 for e in held.errors])


def test_the_thesis_curve_is_the_published_one():
    """The facts: T(1,1) = 6.18 and T(1,2) = 12.4 Mpps."""
    assert thesis.published_mpps(np.array([1.0]))[0] == pytest.approx(6.18, abs=0.005)
    assert thesis.published_mpps(np.array([1.0]), 2)[0] == pytest.approx(12.36, abs=0.01)
    assert thesis.published_mpps(np.array([1e7]))[0] == pytest.approx(2.71, abs=0.01)


@given(st.integers(1, 10**6), st.floats(0, 2))
@examples(30)
def test_ranks_are_whole_and_probabilities_make_one(entries, exponent):
    counts, probability = ranks_of(entries, exponent)
    assert counts.sum() == pytest.approx(entries)
    assert (counts * probability).sum() == pytest.approx(1)
    assert (np.diff(probability) <= 1e-12).all()


def test_popularity_of_exponent_nothing_is_uniform():
    for capacity in (10.0, 1e4, 1e7):
        assert misses(1e5, capacity, 1e-9) == pytest.approx(1e5 / (1e5 + capacity), rel=1e-3)


def test_grouped_ranks_say_what_single_ones_say():
    ranks = np.arange(1, 20001) ** -0.9
    probability = ranks / ranks.sum()
    held = 20000 * 500 / 20500
    low, high = 1e-6, 1e9
    for _ in range(200):
        age = np.sqrt(low * high)
        full = np.sum(probability * age / (1 + probability * age)) > held
        low, high = (low, age) if full else (age, high)
    assert misses(20000, 500, 0.9) == pytest.approx(np.sum(probability / (1 + probability * age)), rel=1e-3)


def test_popular_keys_miss_less_and_shared_caches_miss_more():
    assert misses(1e6, 1e4, 1.0) < misses(1e6, 1e4, 0.5) < misses(1e6, 1e4, 0)
    one_side = shared_misses(np.array([1e5]), np.array([1e4]))
    both = shared_misses(np.array([1e5, 1e3]), np.array([1e4, 1e4]))
    assert one_side[0] == pytest.approx(10 / 11)
    assert both[0] > one_side[0]
    assert shared_misses(np.array([5.0, 5.0]), np.array([4.0, 4.0])) == pytest.approx([10 / 14, 10 / 14]), (
        "one table in two"
    )


MEASURED = {
    # DPDK 22.11.11 on a 2-core Emerald Rapids VM, TSC 2.1 GHz, ticks a lookup, uniform keys; entries -> ticks
    "rte_hash bulk": {1e2: 24.5, 1e4: 26.8, 1e5: 29.4, 1e6: 39.2, 1e7: 63.8},
    "rte_hash single": {1e2: 43.6, 1e4: 51.0, 1e5: 59.7, 1e6: 108, 1e7: 174},
    "hash, pointer, entry": {1e2: 45.5, 1e4: 51.7, 1e5: 75.0, 1e6: 166, 1e7: 281},
    "rte_fib": {1e2: 2.2, 1e4: 7.9, 1e5: 11.5, 1e6: 17.4},
}


@pytest.mark.parametrize("name", list(MEASURED))
def test_some_form_follows_what_lookups_were_measured_to_cost(name):
    """Five sizes are too few to judge by: only that no table is out of the forms' reach."""
    sizes = np.array(list(MEASURED[name]))
    there = Points(sizes, 64 * sizes, np.array(list(MEASURED[name].values())))
    tried = [one for one in heldout.candidates(there, WORLD) if one.parameters is not None]
    fits = [np.abs(one.form.at(one.parameters, sizes, 64 * sizes, WORLD) / there.ns - 1).mean() for one in tried]
    assert min(fits) < 0.1


def runs_beside_a_neighbour(
    exponent: float, seed: int, count: int = 12, ticks: bool = True
) -> tuple[list[neighbour.CostedRun], np.ndarray]:
    """Runs of `count` points, 3 each, whose costs go with a power of the ticks, and the costs without the neighbour."""
    rng = np.random.default_rng(seed)
    runs, true = [], []
    for point in range(count):
        for _ in range(3):
            slow, own = rng.uniform(1, 1.6), (20 + 9 * point) * np.exp(rng.normal(0, 0.01))
            runs.append(neighbour.CostedRun(point, own * slow**exponent, 100 * slow if ticks else None))
            true.append(own)
    return runs, np.array(true)


@given(st.floats(0.4, 1.4), st.integers(0, 2**32 - 1))
@examples(15)
def test_costs_are_corrected_for_a_neighbour(exponent, seed):
    runs, true = runs_beside_a_neighbour(exponent, seed, count=48)
    found = neighbour.neighbour_of(runs)
    assert found.exponent == pytest.approx(exponent, abs=0.05)
    one_side = np.array([neighbour.corrected(run.ns, run.ticks, found) for run in runs])
    assert np.std(one_side / true) / np.mean(one_side / true) < 0.03, "all costs stand at one speed of the core"


def test_what_costs_do_not_follow_is_not_taken_out():
    assert neighbour.neighbour_of(runs_beside_a_neighbour(0.0, 5)[0]) is None, "no correlation"
    assert neighbour.neighbour_of(runs_beside_a_neighbour(1.0, 5, ticks=False)[0]) is None
    assert neighbour.neighbour_of(runs_beside_a_neighbour(1.0, 5, count=2)[0]) is None, "six runs"
    assert neighbour.neighbour_of(runs_beside_a_neighbour(-1.0, 5)[0]) is None, "nobody gets faster of it"
    one_each = [neighbour.CostedRun(point, 10.0 + point, 90.0 + point) for point in range(20)]
    assert neighbour.neighbour_of(one_each) is None, "sizes and ticks cannot be told apart"
    assert neighbour.corrected(5.0, 3.0, None) == 5.0


def test_a_form_is_fitted_to_the_same_points_once():
    """To choose it without each size, each pair of sizes is left out twice; and the thesis' forms are judged again by themselves."""
    asked = []

    def fit(points, world):
        asked.append(tuple(points.entries))
        return forms.LINEAR.fit(points, world)

    six = Points(np.geomspace(10, 1e6, 6), np.geomspace(640, 64e6, 6), np.linspace(10, 60, 6))
    counted = dataclasses.replace(forms.LINEAR, fit=fit)
    first = heldout.of_the_choice(six, WORLD, [counted])
    assert len(set(asked)) == len(asked) > 6 and heldout.of_the_choice(six, WORLD, [counted]) == first
    assert len(set(asked)) == len(asked)
    again = Points(six.entries, six.bytes, six.ns * 2)
    assert six == Points(six.entries, six.bytes, six.ns) and six != again
    assert heldout.of_the_choice(again, WORLD, [counted]).entries == first.entries and len(set(asked)) < len(asked)
