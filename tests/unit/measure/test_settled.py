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


def test_slow_first_windows_are_a_warm_up():
    engine, windows = course(0.4, 0.7, *[1.0] * 10)
    found = judged(engine, windows)
    first = measured_of(windows)
    assert [mark.window for mark in found.excluded] == [first[0].index, first[1].index]
    assert all("warming up" in mark.reasons[0] for mark in found.excluded)
    assert found.reasons == [] and "settled after" in check(found, "steady").words
    assert found.settled.after_ns == first[2].start_ns - first[0].start_ns


def test_fast_first_windows_are_no_warm_up():
    engine, windows = course(*[1.8] * 5, *[1.0] * 7)
    found = judged(engine, windows)
    (reason,) = found.reasons
    assert "not settled" in reason and "from window 6 on" in reason
    assert found.excluded == [] and not found.settled.settled


def test_fast_first_windows_are_excluded_with_a_warning_once_the_level_after_them_held_three_times_as_long():
    engine, windows = course(*[1.8] * 4, *[1.0] * 12)
    found = judged(engine, windows)
    assert found.reasons == [] and len(found.excluded) == 4
    assert check(found, "steady").state == "warning" and "without a known cause" in check(found, "steady").words
    assert not any("warming up" in mark.reasons[0] for mark in found.excluded)


@pytest.mark.parametrize("at", range(4, 12))
def test_a_step_down_is_found_wherever_it_is(at):
    engine, windows = course(*[1.0] * at, *[0.55] * (12 - at))
    assert f"from window {at + 1} on" in judged(engine, windows).reasons[0]


def test_a_run_whose_peer_goes_at_last_is_not_settled():
    engine, windows = course(*[1.0] * 8, *[0.0] * 4)
    found = judged(engine, windows)
    assert "not settled" in found.reasons[0] and not found.settled.settled
    assert check(found, "steady").value == 1


def test_a_level_of_few_windows_has_no_interval_and_can_be_kept():
    engine, windows = course(*[1.0] * 10, 0.5, 0.5)
    found = judged(engine, windows)
    assert found.settled.windows == 2 and found.settled.half_width is None
    assert type(found).model_validate_json(found.model_dump_json()) == found


def test_a_warm_up_longer_than_what_follows_makes_the_run_invalid():
    engine, windows = course(*[0.5] * 7, *[1.0] * 5)
    assert "not settled" in judged(engine, windows).reasons[0]


def test_a_drift_makes_the_run_invalid():
    engine, windows = course(*[1 - 0.03 * n for n in range(12)])
    (reason,) = judged(engine, windows).reasons
    assert reason.startswith("steady: not settled: the response rate fell by 4")
    assert judged(engine, windows, Limits(max_drift=0.5)).reasons == []


def test_seven_windows_are_too_few():
    engine, windows = finished(7)
    found = judged(engine, windows)
    assert check(found, "steady").state == "unknown" and found.settled is None


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


def test_a_settled_run_does_not_go_on():
    assert extended([1.0, 1.01, 0.99] * 4, 12, settle(40)) == [0] * 12


def test_a_run_that_fell_goes_on_until_the_new_level_has_lasted_or_the_bound_is_reached():
    asked = extended([1.8] * 6 + [1.0] * 34, 12, settle(40))
    grown = [(n, more) for n, more in enumerate(asked) if more]
    assert grown[0] == (10, 3)  # one window before its end
    ends = 12 + sum(more for _, more in grown)
    assert 24 <= ends <= 30 and sum(asked[ends - 1 :]) == 0
    assert sum(extended([1.8] * 6 + [1.0] * 34, 12, settle(14))) == 2


@pytest.mark.parametrize("limits", [settle(12), settle(0)])
def test_no_run_goes_on_beyond_the_bound(limits):
    assert sum(extended([1.8] * 6 + [1.0] * 20, 12, limits)) == 0


def test_a_run_by_messages_or_with_too_few_windows_does_not_go_on():
    assert sum(extended([1.8] * 6 + [1.0] * 20, 12, settle(40), messages=1000)) == 0
    assert sum(extended([1.8] * 3 + [1.0] * 20, 7, settle(40))) == 0
