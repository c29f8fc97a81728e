"""Student's t as scipy.stats has it, without its import."""

import subprocess
import sys
from math import inf

import numpy as np
import pytest
from scipy import stats

from windtunnel.stats import students_t
from windtunnel.stats.line import slope_of
from windtunnel.stats.shares import share_of, shares_differ


@pytest.mark.parametrize("freedom", [1, 2.3, 7, 29, 999.5, inf])
def test_it_is_that_of_scipy(freedom):
    t = stats.t(freedom)
    assert [students_t.quantile(chance, freedom) for chance in (0.005, 0.9, 0.995)] == pytest.approx(
        t.ppf([0.005, 0.9, 0.995])
    )
    assert [students_t.chance_above(value, freedom) for value in (-1, 2, 40)] == pytest.approx(t.sf([-1, 2, 40]))


@pytest.mark.parametrize("freedom", [1, 2.3, 7, 29, 999.5])
@pytest.mark.parametrize("power", [0.5, 0.8])
def test_the_distance_is_found_with_the_power(freedom, power):
    critical = students_t.quantile(0.995, freedom)
    distance = students_t.distance_found(critical, freedom, power)
    assert stats.nct.sf(critical, freedom, distance) == pytest.approx(power, rel=1e-5)


def test_the_normal_is_that_of_scipy():
    values = np.linspace(-9, 9, 19)
    assert students_t.normal_below(values) == pytest.approx(stats.norm.cdf(values))


def test_a_slope_has_the_error_that_scipy_has():
    random = np.random.default_rng(1)
    x, y = random.random(9), random.random(9)
    line, found = stats.linregress(x, y), slope_of(x, y)
    assert found.mean == pytest.approx(line.slope)
    assert found.high - found.mean == pytest.approx(line.stderr * stats.t.ppf(0.975, 7))


@pytest.mark.parametrize("count", [0, 1, 7, 16, 17])
def test_shares_are_those_of_scipy(count):
    interval, share = stats.binomtest(count, 17).proportion_ci(0.99), share_of(count, 17, 0.99)
    assert (share.low, share.high) == pytest.approx((interval.low, interval.high), abs=1e-12)
    for other in range(12):
        table = [[count, 17 - count], [other, 11 - other]]
        assert shares_differ(count, 17, other, 11) == pytest.approx(stats.fisher_exact(table).pvalue)


@pytest.mark.slow
def test_no_comparison_waits_for_the_import_of_scipys_own_statistics():
    program = """
import sys
import windtunnel.measure.compare.judge, windtunnel.measure.compare.conditions
print("scipy" in sys.modules)
from windtunnel.stats import differences, shares
[differences.paired([1, 2, 3] * pairs, [4, 5, 7] * pairs) for pairs in (1, 5)]
differences.unpaired([1, 2, 3], [4, 5, 6]), differences.assumed([1], [2], 0.05, 0.01)
shares.share_of(1, 3), shares.shares_differ(1, 3, 2, 3)
print([name for name in sys.modules if name.startswith(("scipy.stats", "scipy.optimize"))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["False", "[]", ""]
