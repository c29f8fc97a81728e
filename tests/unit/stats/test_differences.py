"""What the verdicts of comparisons stand on: the rank tests against scipy's, their properties, and their level under hostile noise."""

from math import inf, isfinite, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy import stats

from windtunnel.stats import differences
from windtunnel.stats.differences import LEVEL, assumed, paired, unpaired, whole

values = st.lists(st.floats(1e-3, 1e9), min_size=3, max_size=24)


def draw(seed, count, spread=0.05):
    return np.exp(np.random.default_rng(seed).normal(0, spread, count))


@pytest.fixture
def exact(monkeypatch):
    """Figures as fine as their digits, as scipy takes them."""
    monkeypatch.setattr(differences, "RESOLUTION", 0.0)


@pytest.mark.parametrize("count", [8, 15, 40])
def test_pairs_are_judged_as_scipy_does(count, exact):
    a, b = draw(1, count), draw(2, count) * 1.01
    assert paired(a, b).p == pytest.approx(stats.wilcoxon(np.log(b) - np.log(a), method="exact").pvalue)


@pytest.mark.parametrize(("pairs", "dropped"), [(8, 0), (10, 3), (15, 15)])
def test_the_interval_equals_published_tables(pairs, dropped, exact):
    """Two-sided 1% of Wilcoxon's statistic: 0, 3 and 15 (F. Wilcoxon, R. A. Wilcox, 1964). So many Walsh averages lie beyond."""
    differences = np.log(draw(1, pairs))
    walsh = sorted((x + y) / 2 for i, x in enumerate(differences) for y in differences[i:])
    found = paired([1.0] * pairs, np.exp(differences))
    assert (found.low, found.high) == pytest.approx((walsh[dropped], walsh[-dropped - 1]))


@pytest.mark.parametrize("counts", [(5, 5), (9, 14), (30, 8)])
def test_runs_are_judged_as_scipy_does(counts, exact):
    a, b = draw(1, counts[0]), draw(2, counts[1]) * 1.01
    assert unpaired(a, b).p == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)


def test_beyond_exact_distributions_the_normal_approximation_continues(exact):
    a, b = draw(1, 101), draw(2, 101) * 1.01
    assert paired(a, b).p == pytest.approx(stats.wilcoxon(np.log(b) - np.log(a), method="exact").pvalue, rel=0.02)
    assert unpaired(a, b).p == pytest.approx(stats.mannwhitneyu(a, b, method="asymptotic").pvalue, rel=0.02)


def test_few_pairs_and_few_runs_are_judged_by_students_t(exact):
    a, b = draw(1, 5), draw(2, 5) * 1.1
    assert paired(a, b).p == pytest.approx(stats.ttest_1samp(np.log(b / a), 0).pvalue)
    assert unpaired(a[:4], b).p == pytest.approx(stats.ttest_ind(np.log(a[:4]), np.log(b), equal_var=False).pvalue)


@examples(50)
@given(values, st.data())
def test_the_interval_excludes_zero_exactly_when_a_difference_is_reported(a, data):
    b = data.draw(st.lists(st.floats(1e-3, 1e9), min_size=len(a), max_size=len(a)))
    for found in (paired(a, b), unpaired(a, b)):
        assert found.low <= found.difference <= found.high
        assert (found.p <= LEVEL) == (found.low > 0 or found.high < 0)
        assert found.smallest > 0 and isfinite(found.smallest)
        assert 0 <= found.effect <= 1 and 0 <= found.p <= 1


@examples(50)
@given(values, st.data())
def test_swapping_the_sides_changes_the_sign(a, data):
    b = data.draw(st.lists(st.floats(1e-3, 1e9), min_size=len(a), max_size=len(a)))
    for of in (paired, unpaired):
        there, back = of(a, b), of(b, a)
        assert there.difference == pytest.approx(-back.difference, abs=1e-9)
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)
        assert there.p == pytest.approx(back.p) and there.effect == pytest.approx(1 - back.effect)


@examples(50)
@given(values, st.floats(0.1, 10), st.randoms())
def test_neither_units_nor_the_order_of_pairs_matter(a, scale, random):
    b = [value * 1.02 for value in reversed(a)]
    order = random.sample(range(len(a)), len(a))
    once = paired(a, b)
    again = paired([a[i] * scale for i in order], [b[i] * scale for i in order])
    assert again.difference == pytest.approx(once.difference, abs=1e-9) and again.p == pytest.approx(once.p)


def test_rounding_below_resolution_shows_no_difference():
    for of in (paired, unpaired):
        for count in (3, 15):
            same = of([1500.0] * count, [1500.0] * count)
            assert same.p > LEVEL and same.low < 0 < same.high and same.smallest > 0
        assert of([1500.0] * 15, [1501.0] * 15).smallest > 0
        assert of([1500.0] * 15, [1600.0] * 15).p <= LEVEL


def hostile(kind, rng, count):
    """Logarithms of so many runs one after the other."""
    quiet = 0.03 * rng.standard_normal(count)
    match kind:
        case "heavy tails":
            return 0.02 * rng.standard_t(2.5, count)
        case "spoilt runs":
            return quiet / 2 - np.where(rng.random(count) < 0.15, rng.exponential(0.15, count), 0)
        case "drift":
            return np.linspace(0, 0.3, count) + quiet
        case "steps":
            return quiet / 2 + np.cumsum(np.where(rng.random(count) < 0.1, 0.1 * rng.standard_normal(count), 0))
        case "every other run":
            return 0.05 * (np.arange(count) % 2) + quiet
    return quiet


@pytest.mark.parametrize("kind", ["quiet", "heavy tails", "spoilt runs", "drift", "steps", "every other run"])
@pytest.mark.parametrize("pairs", [5, 15])
def test_equal_samples_show_no_difference(kind, pairs):
    """1000 comparisons at a level of 1%: 22 or more would come about once in 1000 times if the level held."""
    rng = np.random.default_rng(7)
    shown = 0
    for _ in range(1000):
        specs = np.exp(hostile(kind, rng, 2 * pairs)).reshape(pairs, 2)
        first = rng.integers(2, size=pairs)
        shown += paired(specs[range(pairs), first], specs[range(pairs), 1 - first]).p <= LEVEL
    assert shown < 22


def test_the_smallest_detectable_difference_is_detected():
    """The smallest difference of 15 pairs of a known spread, put in: found about 80 times in 100."""
    rng = np.random.default_rng(3)
    smallest = np.median([paired(*np.exp(0.03 * rng.standard_normal((2, 15)))).smallest for _ in range(400)])
    found = 0
    for _ in range(1000):
        a, b = np.exp(0.03 * rng.standard_normal((2, 15)))
        found += paired(a, b * np.exp(smallest)).p <= LEVEL
    assert 720 <= found <= 860


def test_an_assumed_spread_widens_every_interval():
    one_side = assumed([100.0], [100.0], between=log(1.05), within=0.0)
    assert one_side.high == pytest.approx(2.576 * 2**0.5 * log(1.05), rel=1e-3)
    assert one_side.effect is None and one_side.freedom == inf
    assert assumed([100.0], [100.0], log(1.05), within=0.1).high > one_side.high
    assert assumed([100.0, 130.0], [100.0, 130.0], log(1.05), 0.0).high > one_side.high
    assert assumed([100.0, 100.0], [100.0, 100.0], log(1.05), 0.0).high == pytest.approx(one_side.high / 2**0.5)


def test_another_level_has_a_wider_interval_and_the_same_middle():
    a, b = draw(1, 12), draw(2, 12) * 1.03
    for of in (paired, unpaired):
        one, other = of(a, b), of(a, b, LEVEL / 4)
        assert other.low <= one.low <= one.high <= other.high and other.difference == one.difference
        assert (other.low, other.high) != (one.low, one.high)


def test_points_together_narrow_the_interval():
    one = paired(draw(1, 10), draw(2, 10) * 1.03)
    many = whole([one] * 9)
    assert many.difference == pytest.approx(one.difference) and many.error == pytest.approx(one.error / 3)
    assert many.p < one.p and many.freedom == pytest.approx(9 * one.freedom)
    mixed = whole([one, assumed([1.0], [1.0], 0.05, 0.0)])
    assert mixed.method == "assumed" and isfinite(mixed.freedom)


@examples(10)
@given(st.integers(1, 30))
def test_rank_distributions_sum_to_one_and_are_symmetric(count):
    for distribution in (
        differences._signed_ranks(count),
        differences._ranks(count, 7),
        differences._ranks(700, count),
    ):
        assert distribution.sum() == pytest.approx(1)
        assert distribution == pytest.approx(distribution[::-1])
