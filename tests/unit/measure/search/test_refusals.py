"""Searches that are refused, and those whose trials fail."""

import math
from dataclasses import replace

import pytest
from simulated_device import Device

from windtunnel.errors import UserError
from windtunnel.measure.search import NDR, PDR, Limits, TrialFailed, TrialResult, search

LIMITS = Limits(1e4, 5e6)


def wrong(**instead):
    return lambda load, duration_s: TrialResult(
        **({"load": load, "duration_s": duration_s, "sent": 9, "forwarded": 9} | instead)
    )


@pytest.mark.parametrize(
    "measure, words",
    [
        (wrong(forwarded=10), "forwarded 10 of 9 sent"),
        (wrong(sent=-1, forwarded=-2), "sent -1, forwarded -2"),
        (wrong(unsent=-1), "unsent -1"),
        (wrong(sent=0, forwarded=0), "send nothing"),
        (wrong(took_s=math.nan), "time nan"),
        (wrong(effective_duration_s=0.0), "effective duration 0"),
        (wrong(load=1.0), "another one: a load of 1 for 1 s"),
        (wrong(duration_s=2.0), "another one"),
        (lambda load, duration_s: None, "no TrialResult but None"),
        (lambda load, duration_s: 1 / 0, "division by zero"),
    ],
)
def test_an_impossible_trial_is_an_error(measure, words):
    with pytest.raises(TrialFailed, match=r"^trial 1 \(a load of 5e\+06 for 1 s\)") as error:
        search(measure, [NDR], LIMITS)
    assert words in error.value.message and error.value.trials == ()


def test_a_trial_that_raises_keeps_earlier_trials_and_the_remedy():
    device = Device(1e6)

    def measure(load, duration_s):
        if device.clock_s >= 4:
            raise UserError("no engine", remedy="build it")
        return device(load, duration_s)

    with pytest.raises(TrialFailed, match="trial 5 .*: no engine") as error:
        search(measure, [NDR], LIMITS)
    assert len(error.value.trials) == 4 and error.value.remedy == "build it"
    assert isinstance(error.value.__cause__, UserError)


def test_ctrl_c_is_not_a_failed_trial():
    def measure(load, duration_s):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(measure, [NDR], LIMITS)


@pytest.mark.parametrize("goals", [[], [NDR, replace(PDR, name="NDR")]])
def test_goals_need_unique_names(goals):
    with pytest.raises(UserError, match="a search for the goals"):
        search(Device(1e6), goals, LIMITS)


@pytest.mark.parametrize(
    "change",
    [
        {"loss_ratio": 1.0},
        {"loss_ratio": -0.1},
        {"exceed_ratio": 1.0},
        {"exceed_ratio": math.nan},
        {"width": 0.0},
        {"width": 1.0},
        {"duration_sum_s": 0.0},
        {"final_trial_duration_s": math.inf},
        {"initial_trial_duration_s": 1.5},
    ],
)
def test_goals_that_the_rfc_excludes_are_refused(change):
    with pytest.raises(UserError, match=f"goal NDR: {next(iter(change))}"):
        replace(NDR, **change)


@pytest.mark.parametrize("change", [{"min_load": 0}, {"max_load": 1e4}, {"time_s": 0}, {"trials": 0}, {"excluded": 0}])
def test_invalid_limits_are_refused(change):
    with pytest.raises(UserError):
        replace(LIMITS, **change)
