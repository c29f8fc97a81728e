"""Whether a run settled, which windows its metrics are of, and by how much it goes on."""

import pytest
from validity_tools import LIMITS, check, finished, in_time, judged, measured_of, rated

from windtunnel.host.levels import Readings
from windtunnel.measure.validity import Extension
from windtunnel.runs import metrics
from windtunnel.scenario.validity_keys import Validity as Limits


def course(*factors):
    """A run whose windows answered so many times as much as the sample's, one after the other in time."""
    engine, windows = finished(len(factors))
    windows = in_time(windows)
    first = windows.index(measured_of(windows)[0])
    rates = [rated(window, factor) for window, factor in zip(windows[first:], factors, strict=True)]
    return engine, windows[:first] + rates


def steadiness(engine, windows, limits=LIMITS):
    return check(judged(engine, windows, limits), "steady")


def test_a_run_of_one_level_says_the_level_and_its_interval():
    engine, windows = course(*[1.0, 1.01, 0.99] * 4)
    found = judged(engine, windows)
    assert found.reasons == [] and found.excluded == []
    rate = metrics.workload_rows(windows, ["mixed"])[0].responses_per_s
    assert found.settled.settled and found.settled.windows == 12 and found.settled.after_ns == 0
    assert found.settled.what == "responses_per_s" and found.settled.mean == pytest.approx(rate, rel=1e-3)
    assert 0 < found.settled.half_width < 0.01
    assert "stayed on one level" in check(found, "steady").words


def test_slow_first_windows_may_be_a_warm_up():
    engine, windows = course(0.4, 0.7, *[1.0] * 10)
    found = judged(engine, windows)
    first = measured_of(windows)
    assert found.settled.after_ns == first[2].start_ns - first[0].start_ns
    assert check(found, "steady").words.endswith("If the data plane was warming up, a longer `warmup` leaves that out")


@pytest.mark.parametrize("factor", [0.8, 1.25])
@pytest.mark.parametrize("at", [2, 6, 10])
def test_a_step_up_leaves_as_much_in_the_metrics_as_a_step_down(at, factor):
    """Who drops slow first windows, and keeps fast ones, shows 4.7% too much on average."""
    found = judged(*course(*[1.0] * at, *[factor] * (12 - at)))
    level = judged(*course(*[1.0] * 12)).settled.mean
    assert found.excluded == [] and found.settled.windows == 12
    assert found.settled.mean == pytest.approx(level * (at + factor * (12 - at)) / 12, rel=1e-3)


@pytest.mark.parametrize("at", range(2, 12))
def test_a_step_down_is_found_wherever_it_is(at):
    engine, windows = course(*[1.0] * at, *[0.55] * (12 - at))
    assert f"from window {at + 1} on" in steadiness(engine, windows).words


@pytest.mark.parametrize(
    ("factors", "words", "step"),
    [
        ([1.8] * 5 + [1.0] * 7, "from window 6 on", 0.8),  # fast first windows are no warm-up
        ([1.8] * 4 + [1.0] * 12, "from window 5 on", 0.8),  # however long the level after them
        ([0.5] * 7 + [1.0] * 5, "from window 8 on", 0.5),  # a warm-up longer than what follows
        ([1.0] * 8 + [0.0] * 4, "from window 9 on", 1.0),  # its peer goes at last
    ],
)
def test_that_a_run_did_not_settle_is_a_result_and_excludes_nothing(factors, words, step):
    found = judged(*course(*factors))
    steady = check(found, "steady")
    assert steady.state == "warning" and steady.words.startswith("not settled") and words in steady.words
    assert steady.value == pytest.approx(step, rel=1e-3)
    assert found.reasons == [] and found.excluded == [] and not found.settled.settled
    assert type(found).model_validate_json(found.model_dump_json()) == found


def test_the_interval_of_a_run_that_did_not_settle_is_wide():
    found = judged(*course(*[1.0] * 8, *[0.8] * 8))
    assert found.settled.half_width > 0.1


def test_a_drift_is_said():
    engine, windows = course(*[1 - 0.03 * n for n in range(12)])
    found = steadiness(engine, windows)
    assert found.state == "warning" and found.words.startswith("not settled: the response rate fell by 4")
    assert steadiness(engine, windows, Limits(max_drift=0.5)).state == "good"
    few = judged(*finished(7))
    assert check(few, "steady").state == "unknown" and few.settled is None


def test_a_server_whose_client_is_on_another_host_does_not_judge_a_change_that_may_be_the_loads():
    engine, windows = course(*[1.0] * 12)
    workload = engine.plan.workloads[0].model_copy(update={"load": None})
    engine.plan = engine.plan.model_copy(update={"workloads": [workload]})
    ports = [port.model_copy(update={"rx_packets": port.rx_packets // 2}) for port in windows[-1].ports]
    alone = [window.model_copy(update={"workloads": []}) for window in windows]
    changed = alone[:-6] + [window.model_copy(update={"ports": ports}) for window in alone[-6:]]
    assert steadiness(engine, alone).state == "good"
    for slower_first in (changed, in_time(alone[:2] + changed[:1:-1])):
        found = judged(engine, slower_first)
        assert check(found, "steady").state == "unknown" and found.settled is None and found.excluded == []
        assert "the client on the other host" in check(found, "steady").words


def extended(factors, planned, limits=LIMITS, messages=None):
    """By how many windows the run goes on after each of its windows, when its duration is so many windows long."""
    engine, windows = course(*factors)
    first = windows.index(measured_of(windows)[0])
    span = engine.plan.phases.window_ns
    phases = engine.plan.phases.model_copy(update={"duration_ns": planned * span, "messages": messages})
    engine.plan = engine.plan.model_copy(update={"phases": phases})
    seen = {engine.name: windows[:first]}
    extension = Extension(lambda: [engine], seen, limits, Readings())
    asked = []
    for window in windows[first:]:
        seen[engine.name].append(window)
        asked.append(extension.more(engine.name))
    return asked


def settle(windows):
    engine, _ = finished()
    return Limits(settle=f"{windows * engine.plan.phases.window_ns}ns")


FALLING = [1.8] * 6 + [1.0] * 34


def test_a_run_that_fell_goes_on_until_the_new_level_has_lasted_or_the_bound_is_reached():
    asked = extended(FALLING, 12, settle(40))
    grown = [(n, more) for n, more in enumerate(asked) if more]
    assert grown[0] == (10, 3)  # one window before its end
    ends = 12 + sum(more for _, more in grown)
    assert 24 <= ends <= 30 and sum(asked[ends - 1 :]) == 0
    assert sum(extended(FALLING, 12, settle(14))) == 2


@pytest.mark.parametrize(
    ("factors", "planned", "limits", "messages"),
    [
        ([1.0, 1.01, 0.99] * 4, 12, settle(40), None),  # it is settled
        (FALLING[:26], 12, settle(12), None),  # the bound is reached
        (FALLING[:26], 12, settle(0), None),
        (FALLING[:26], 12, settle(40), 1000),  # it is as long as its messages take
        (FALLING[3:26], 7, settle(40), None),  # too few windows
    ],
)
def test_other_runs_do_not_go_on(factors, planned, limits, messages):
    assert sum(extended(factors, planned, limits, messages)) == 0
