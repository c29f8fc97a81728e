"""Trials of one host state, and the closed loop that a search starts with."""

import pytest
from fake_runs import FAKE
from scenario_tools import written
from search_runs import a_run

import windtunnel
from windtunnel.engine.find import VARIABLE
from windtunnel.measure.search import Goal, Objective
from windtunnel.measure.throughput import find
from windtunnel.measure.throughput.find import Finder, Options
from windtunnel.measure.throughput.trials import MOST_PAUSED, balance, latencies
from windtunnel.results.search import doubts, host_sentences

SCENARIO = {"duration": "60ms", "client": {"rate": "1kpps"}, "workload": [{"handler": "l_app"}]}
CARRIED = {"offered": 1000, "sent": 1000, "responses": 1000}
NEAR, FAR = 90.0, 425.0
P99 = Goal("p99", 0.01, latency=Objective(0.99, 50e3))


@pytest.fixture
def finder(tmp_path, monkeypatch):
    """A search whose runs are these, one after the other."""
    monkeypatch.setenv(VARIABLE, str(FAKE))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def with_runs(*runs, options=None, **validity):
        data = SCENARIO | ({"validity": validity} if validity else {})
        made = Finder(written(tmp_path, data), [], options or Options(), tmp_path / "found", interrupts=None)
        left = list(runs)
        monkeypatch.setattr(made._runs, "run", lambda scenario, what: left.pop(0))
        made.left = left
        return made

    return with_runs


def closed(rate: int, **more):
    return a_run(counts=dict.fromkeys(("sent", "responses"), rate), **more)


def test_a_closed_loop_that_the_host_affected_is_run_again(finder):
    made = finder(closed(300, reasons=["windows: preempted"]), closed(1000), closed(5))
    assert made._greatest_load() == 1500 and len(made.left) == 1
    assert made.record.closed_loops_excluded == ["windows: preempted"]
    assert made.record.closed_loop_per_s == 1000


def test_where_the_host_affects_all_closed_loops_the_search_starts_higher(finder):
    affected = [closed(rate, reasons=["clock: off"]) for rate in (300, 900, *[100] * (find.CLOSED_LOOPS - 2))]
    made = finder(*affected, closed(5000))
    assert made._greatest_load() == 4 * 900 and len(made.left) == 1 and made._runs.reference is None
    assert len(made.record.closed_loops_excluded) == find.CLOSED_LOOPS


def test_a_closed_loop_in_no_one_state_is_run_again(finder):
    quiet = closed(900, line_ns=NEAR)
    made = finder(closed(800, line_ns=NEAR, complete=False), quiet)
    assert made._greatest_load() == 1350
    assert made.record.closed_loops_excluded[0].startswith("host state: known in only 0 of 1 windows")


def test_trials_in_another_state_than_the_first_run_are_excluded(finder):
    runs = [closed(1000, line_ns=NEAR), a_run(line_ns=FAR, counts=CARRIED), a_run(line_ns=NEAR, counts=CARRIED)]
    runs.append(a_run(line_ns=NEAR, complete=False, counts=CARRIED))
    made = finder(*runs)
    made._greatest_load()
    assert made._runs.state == "one-level"
    other, same, unknown = (made._runs.trial(1000.0, 1.0) for _ in range(3))
    assert other.excluded == "host state: two-l3s; the search is of one-l3"
    assert same.excluded is None
    assert unknown.excluded.startswith("host state: known in only 0 of 1 windows")
    assert made._runs.state == "one-l3" and made._runs.other_states == 2


def test_without_a_closed_loop_the_first_trial_that_counts_names_the_state(finder):
    made = finder(
        a_run(line_ns=FAR, counts=CARRIED, reasons=["windows: preempted"]),
        a_run(line_ns=NEAR, counts=CARRIED),
        a_run(line_ns=FAR, counts=CARRIED),
    )
    trials = [made._runs.trial(1000.0, 1.0) for _ in range(3)]
    assert [trial.excluded is None for trial in trials] == [False, True, False]


def test_a_host_that_cannot_be_probed_excludes_nothing(finder):
    made = finder(closed(1000), a_run(counts=CARRIED))
    made._greatest_load()
    assert made._runs.trial(1000.0, 1.0).excluded is None and made._runs.state is None


def test_a_state_asked_for_is_judged_by_the_run_itself(finder):
    made = finder(
        a_run(line_ns=NEAR, counts=CARRIED),
        a_run(line_ns=FAR, counts=CARRIED, reasons=["host state: the state asked for, one-l3, never came"]),
        state="one-l3",
    )
    assert made._runs.trial(1000.0, 1.0).excluded is None
    assert "never came" in made._runs.trial(1000.0, 1.0).excluded
    assert made._runs.state == "one-l3"


def test_a_trial_has_the_latencies_of_what_was_due_while_it_was_measured():
    run = a_run(counts={"offered": 2000, "sent": 1995, "responses": 1990, "lost": 5, "unsent": 0})
    found = latencies(run, balance(run))
    assert found.missing == 5 and found.messages == 2 * 1000 + 5


def paused(**counts):
    return a_run(queue=8, longest_pause_ns={1: 50_000_000}, preempted_ns={1: 50_000_000}, counts=CARRIED | counts)


def test_a_pause_excludes_a_trial_whatever_came_of_it(finder):
    made = finder(paused(), paused(lost=20), paused(lost=200, unsent=1), a_run(queue=8, counts=CARRIED | {"lost": 20}))
    excluded = [made._runs.trial(1000.0, 1.0).excluded for _ in range(4)]
    assert all(why.startswith("pause: the worker on CPU 1") for why in excluded[:3]) and excluded[3] is None
    assert made._runs.patience.paused == 3


def test_pauses_count_if_there_is_no_trial_without_one(finder):
    """Thirty in a row; then the rate is that of the data plane with this host's pauses."""
    made = finder(*[paused() for _ in range(30)], a_run(queue=8, counts=CARRIED), paused(lost=1))
    excluded = [made._runs.trial(1000.0, 1.0).excluded is not None for _ in range(32)]
    assert excluded == [True] * (MOST_PAUSED - 1) + [False] * (33 - MOST_PAUSED)
    assert made._runs.patience.given_up and made._runs.patience.paused == 31


def test_pauses_count_from_the_start_if_the_scenario_allows_preemption(finder):
    made = finder(paused(), max_preempted=1.0)
    assert made._runs.trial(1000.0, 1.0).excluded is None and made._runs.patience.given_up


def test_pauses_in_most_trials_do_not_count_as_long_as_some_have_none(finder):
    runs = [a_run(queue=8, counts=CARRIED) if n % 10 == 9 else paused() for n in range(60)]
    made = finder(*runs)
    assert sum(made._runs.trial(1000.0, 1.0).excluded is None for _ in runs) == 6
    assert not made._runs.patience.given_up


def test_latency_at_parts_of_the_rate_is_of_the_searchs_state(finder, monkeypatch):
    made = finder(closed(1000, line_ns=NEAR), a_run(line_ns=FAR, counts=CARRIED))
    made._greatest_load()
    made._runs.trial(1000.0, 1.0)
    asked = []

    def run(scenario, what):
        asked.append(scenario)
        return a_run(line_ns=NEAR, counts=CARRIED)

    monkeypatch.setattr(made._runs, "run", run)
    made._latency_at(0.5, 500.0)
    assert asked[0].validity.state == "one-l3" and asked[0].client.rate == 500.0


@pytest.mark.parametrize("limit", [{"min_load": 50.0}, {"max_load": 100.0}])
def test_loads_with_too_few_messages_for_a_percentile_are_refused(finder, limit):
    made = finder(options=Options(goals=(P99,), **limit))
    with pytest.raises(windtunnel.UserError, match="p99 needs 100") as refused:
        made._least_for_latency()
    assert "101pps or more, or a longer --trial" in refused.value.remedy


def test_the_least_load_has_enough_messages_for_every_percentile(finder):
    made = finder(options=Options(goals=(P99,), max_load=1e5))
    assert made._limits(made._least_for_latency()).min_load == 101


@pytest.mark.parametrize(("seconds", "in_a_row"), [(0.1, 120), (1.0, 120), (4.0, 30), (60.0, 10)])
def test_excluded_trials_in_a_row_are_bounded_by_their_time(finder, seconds, in_a_row):
    goal = Goal("a", 0.0, initial_trial_duration_s=seconds, final_trial_duration_s=seconds)
    assert finder(options=Options(goals=(goal,), max_load=1e5))._limits(0.0).excluded == in_a_row


@pytest.mark.parametrize(("seconds", "in_a_row"), [(0.1, 30), (1.0, 30), (4.0, 7), (60.0, 5)])
def test_pauses_count_before_the_search_would_end_for_want_of_a_trial(finder, seconds, in_a_row):
    goal = Goal("a", 0.0, initial_trial_duration_s=seconds, final_trial_duration_s=seconds)
    made = finder(options=Options(goals=(goal,), max_load=1e5))
    assert made._limits(0.0).excluded > made._runs.patience.in_a_row == in_a_row


def test_a_search_says_how_many_trials_count_that_a_pause_may_have_decided(finder):
    goal = Goal("a", 0.1, width=0.5, duration_sum_s=1.0)
    made = finder(*[paused() for _ in range(200)], options=Options(goals=(goal,), max_load=1000.0))
    assert doubts(made.record) == []
    made._search(made._limits(0.0))
    trials = len(made.record.trials)
    assert made.record.pauses_count and made.record.paused == trials >= MOST_PAUSED
    (words,) = doubts(made.record)
    assert f"may have decided {trials - MOST_PAUSED + 1} of the trials that count" in words
    assert f"{MOST_PAUSED - 1} for a pause that may have decided them" in host_sentences(made.record)[1]
