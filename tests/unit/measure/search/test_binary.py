"""RFC 2544's own search, on simulated devices."""

from dataclasses import replace

import pytest
from simulated_device import Device

from windtunnel.measure.search import PDR, Limits, binary_search

LIMITS = Limits(1e4, 5e6)


@pytest.mark.parametrize("capacity, trials", [(1e6, 12), (1e7, 1), (5e3, 2)])
def test_the_binary_search_halves(capacity, trials):
    result = binary_search(Device(capacity), LIMITS)
    assert len(result.trials) == trials and {t.duration_s for t in result.trials} == {60.0}
    (found,) = result.goals
    assert found.regular == (capacity == 1e6)
    if found.regular:
        assert found.relevant_lower_bound <= capacity < found.relevant_upper_bound and found.width <= 0.005
        assert found.conditional_throughput == found.relevant_lower_bound
        assert result.trials[2].load == (LIMITS.min_load + LIMITS.max_load) / 2


def test_the_binary_search_takes_a_loss_ratio_and_reports_progress():
    told = []
    found = binary_search(Device(1e6), LIMITS, PDR, on_trial=lambda trial, goals: told.append(trial)).goals[0]
    assert found.relevant_lower_bound <= 1e6 / 0.995 < found.relevant_upper_bound
    assert len({t.load for t in told}) == len(told), "one trial decides"


def test_the_binary_search_ends_at_its_limits():
    result = binary_search(Device(1e6), replace(LIMITS, trials=5))
    assert result.stopped and result["throughput"].irregular == result.stopped
