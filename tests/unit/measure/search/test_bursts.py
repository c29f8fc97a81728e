"""The longest burst without loss, on simulated devices."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_device import Device

from windtunnel.errors import UserError
from windtunnel.measure.search import BurstLimits, BurstResult, TrialFailed, back_to_back

LIMITS = BurstLimits(rate=2e6, longest_s=0.1, repeats=3)


def sender(device, rate=LIMITS.rate):
    return lambda length: device.burst(length, rate)


@given(st.integers(0, 50_000), st.sampled_from([1, 7, 64]))
def test_the_buffer_size_follows_from_the_burst(buffer, step):
    limits = replace(LIMITS, step=step)
    found = back_to_back(sender(Device(1e6, buffer)), limits, throughput=1e6)
    assert found.irregular is None and len(found.bursts) == 3
    # at half the rate every other packet of the burst has left by its end
    assert all(2 * buffer - 2 * step <= burst <= 2 * buffer + 2 for burst in found.bursts)
    assert all(burst % step == 0 for burst in found.bursts)
    assert found.implied_buffer_s == found.average / 2e6
    assert found.corrected_buffer_s == pytest.approx(buffer / 2e6, abs=2 * step / 2e6)


def test_a_noisy_device_has_a_spread():
    found = back_to_back(sender(Device(1e6, 5000, noise=0.01, seed=3)), replace(LIMITS, repeats=50))
    assert len(found.bursts) == 50 and min(found.bursts) < found.average < max(found.bursts)
    assert found.deviation > 0 and found.corrected_buffer_s is None


def test_loss_verification_forgives_a_single_lossy_burst():
    def every_other():
        lossy = iter([False, True] * 10_000)
        return lambda length: BurstResult(length, length - (length > 100 or next(lossy)))

    strict = back_to_back(every_other(), replace(LIMITS, repeats=1))
    verified = back_to_back(every_other(), replace(LIMITS, repeats=1, verify=2))
    assert strict.bursts[0] < verified.bursts[0] == 100


def test_a_burst_at_the_limit_is_irregular():
    found = back_to_back(sender(Device(1e6, 10**9)), LIMITS)
    assert set(found.bursts) == {200_000}
    assert found.irregular == "a burst of 0.1 s, the longest allowed, was forwarded: the buffer may be larger"


def test_excluded_bursts_are_repeated_up_to_a_limit():
    device, told = Device(1e6, 1000), []

    def send(length):
        excluded = len(told) in (1, 2, 6, 7, 8)
        return replace(device.burst(length, 2e6), excluded="steal" if excluded else None)

    found = back_to_back(send, LIMITS, on_burst=lambda burst, bursts: told.append(burst))
    assert len(told) == 9 and found.bursts == ()
    assert found.irregular.startswith("3 bursts of") and found.irregular.endswith("steal")
    assert (found.average, found.deviation, found.implied_buffer_s) == (None, None, None)


@pytest.mark.parametrize(
    "send, words",
    [
        (lambda length: BurstResult(length, length + 1), "were forwarded"),
        (lambda length: BurstResult(length - 1, 0), "was one of"),
        (lambda length: None, "no BurstResult"),
        (lambda length: 1 / 0, "division by zero"),
    ],
)
def test_an_impossible_burst_is_an_error(send, words):
    with pytest.raises(TrialFailed, match="a burst of 100000 packets") as error:
        back_to_back(send, LIMITS)
    assert words in error.value.message


@pytest.mark.parametrize("change", [{"rate": 0}, {"repeats": 0}, {"verify": 0}, {"step": 10**6}, {"longest_s": -1.0}])
def test_invalid_limits_are_refused(change):
    with pytest.raises(UserError):
        replace(LIMITS, **change)


def test_a_device_as_fast_as_the_medium_has_no_buffer_to_find():
    with pytest.raises(UserError, match="a throughput of 2e"):
        back_to_back(sender(Device(2e6)), LIMITS, throughput=2e6)
