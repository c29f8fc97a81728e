"""An experiment: slopes of delays find the worker, variants of remedies measure what they bring."""

import pytest
from diagnosed_runs import experimental, made

from windtunnel.parts.diagnose.causes import find_causes
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.experiment import delayed, variants_for
from windtunnel.parts.diagnose.model import Interval, Remedy
from windtunnel.parts.diagnose.observation import observe
from windtunnel.runs import Run
from windtunnel.runs.validity import Check, ExcludedWindow, Validity

CLIENT, SERVER = 0, 1


def of(slack_ns, **how):
    return diagnose(experimental(slack_ns, **how)).experiment


def by_stage(found):
    return {each.stage: each for each in found.slopes}


def test_a_delay_of_the_worker_that_limits_is_a_delay_of_every_message():
    found = of({"client": 25.0, "server": 0.0})
    server = by_stage(found)["server app_rx"]
    assert server.delays_ns == pytest.approx([10.0, 30.0], rel=1e-3)
    assert server.slope.mean == pytest.approx(1.0, abs=0.05) and server.slope.low < 1 < server.slope.high + 0.05
    assert (found.limit.kind, found.limit.workers, found.limit.stage) == ("worker", [SERVER], "server app_rx")


def test_a_remedy_of_a_cause_that_is_not_here_is_left_out():
    """A record that somebody sent names its variants as it likes."""
    run = experimental({"client": 25.0, "server": 0.0}, remedies={"nothing": ({"client.inflight": 4096}, 0.5)})
    diagnosis = diagnose(run)
    assert diagnosis.experiment.remedies[0].gain.low > 0
    assert "nothing" not in {cause.code for cause in diagnosis.causes}


def test_a_delay_within_the_slack_costs_nothing():
    client = by_stage(of({"client": 40.0, "server": 0.0}))["client app_tx"]
    assert client.limits is False and client.slope.mean == pytest.approx(0.0, abs=0.05)
    assert client.slack_ns.mean == pytest.approx(30.0, abs=1.0)  # as long as the longest delay, or longer


def test_the_slack_is_where_the_slope_turns():
    client = by_stage(of({"client": 20.0, "server": 0.0}))["client app_tx"]
    assert client.slack_ns.mean == pytest.approx(20.0, abs=1.0)
    assert client.implied_ns.mean == pytest.approx(80.0, abs=1.5)
    assert client.accounted_ns == pytest.approx(80.0, rel=0.03)


@pytest.mark.parametrize(("factor", "kind"), [(0.5, "in-flight"), (1.0, "link")])
def test_where_no_delay_costs_anything_more_messages_in_flight_tell(factor, kind):
    remedies = {"in-flight": ({"client.inflight": 4096}, factor)}
    found = of({"client": 50.0, "server": 60.0}, remedies=remedies)
    assert found.limit.kind == kind
    (remedy,) = found.remedies
    assert remedy.sets == ["client.inflight=4096"]
    assert remedy.gain.mean == pytest.approx(100 * (1 / factor - 1), abs=1.5)


@pytest.mark.parametrize(
    ("server_ns", "kind", "workers"), [(40.0, "generator", [CLIENT]), (0.0, "tie", [CLIENT, SERVER])]
)
def test_a_client_without_slack_is_the_generator_or_ties(server_ns, kind, workers):
    found = of({"client": 0.0, "server": server_ns}).limit
    assert found.kind == kind and sorted(found.workers) == workers


def test_few_blocks_have_no_interval_and_no_verdict():
    found = of({"client": 25.0, "server": 0.0}, blocks=5)
    assert found.limit.kind == "unknown" and "5 blocks" in found.limit.words
    assert {each.limits for each in found.slopes} == {None}
    assert diagnose(made()).experiment is None, "a run without such variants"


def test_noise_that_drifts_is_shared_within_a_block():
    found = of({"client": 25.0, "server": 0.0}, noise=0.02)
    assert by_stage(found)["server app_rx"].limits


def excluded(windows):
    return [ExcludedWindow(engine="windtunnel", window=window.index, reasons=["preempted"]) for window in windows]


def test_excluded_windows_are_left_out_with_their_partner():
    run = experimental({"client": 25.0, "server": 0.0})
    windows = run.windows["windtunnel"]
    odd = [window for window in windows if window.variant == 4][::2]  # of half the blocks: few do not move a median

    def slow(window):
        workloads = [w.model_copy(update={"responses": 1000}) for w in window.workloads]
        return window.model_copy(update={"workloads": workloads})

    replaced = [slow(window) if window in odd else window for window in windows]
    marks = excluded(odd)
    record = run.record.model_copy(update={"validity": run.record.validity.model_copy(update={"excluded": marks})})
    found = diagnose(Run(run.path, record, {"windtunnel": replaced})).experiment
    assert by_stage(found)["server app_rx"].slope.mean == pytest.approx(1.0, abs=0.05)


def test_of_an_invalid_run_all_windows_are_used():
    run = experimental({"client": 25.0, "server": 0.0})
    marks = excluded(run.windows["windtunnel"])
    bad = Check(name="windows", state="bad", words="none is left")
    record = run.record.model_copy(update={"validity": Validity(checks=[bad], excluded=marks)})
    found = diagnose(Run(run.path, record, run.windows))
    assert found.experiment.limit.kind == "worker" and found.limit.kind == "host"


def test_the_variants_of_an_experiment():
    run = made(client=0.8, server=0.7, work={("server", "app_rx"): 3.0, ("client", "app_tx"): 3.0}, messages=5_000_000)
    found, seen = diagnose(run), observe(run)
    named = {each.name: each for each in variants_for(found, seen)}
    assert [name for name in named if name.endswith("later")] == [
        "client app_tx 10% later", "client app_tx 30% later", "server app_rx 10% later", "server app_rx 30% later"
    ]  # fmt: skip
    (delay,) = named["server app_rx 30% later"].delays
    assert delay.ns == pytest.approx(30.0)
    assert named["remedy: in-flight"].inflight == 2048


def test_workers_of_one_kind_are_delayed_together():
    workers = diagnose(made()).workers
    twice = [*workers, workers[1].model_copy(update={"worker": 2})]
    assert [[worker.worker for worker in each.workers] for each in delayed(twice)] == [[0], [1, 2]]


def causes(slack_ns, factor):
    remedies = {"in-flight": ({"client.inflight": 4096}, factor)}
    return {each.code: each for each in diagnose(experimental(slack_ns, remedies=remedies)).causes}


def test_what_a_remedy_brought_stands_in_place_of_its_prediction():
    found = causes({"client": 70.0, "server": 60.0}, 0.8)["in-flight"]
    assert found.gain.low == pytest.approx(25.0, abs=1) and found.gain.high == pytest.approx(25.0, abs=1)
    assert found.confidence == "high" and "tried: client.inflight=4096 changes the rate by +" in found.evidence


def test_a_remedy_that_brought_nothing_is_no_cause():
    run = made(client=0.8, server=0.7)
    assert "in-flight" in {cause.code for cause in diagnose(run).causes}
    for low, high, is_cause in ((-10.0, 0.5, False), (-1.0, 30.0, False), (1.0, 1.5, False), (1.0, 3.0, True)):
        remedy = Remedy(code="in-flight", sets=["client.inflight=4096"], gain=Interval(mean=1.2, low=low, high=high))
        causes_, _ = find_causes(observe(run), diagnose(run).limit, [remedy])
        assert ("in-flight" in {cause.code for cause in causes_}) is is_cause, (low, high)


def test_a_gain_that_no_record_shows_is_a_cause_by_experiment():
    slack = {"client": 25.0, "server": 0.0}
    assert causes(slack, 0.8)["in-flight"].evidence.startswith("tried: client.inflight=4096")
    assert "in-flight" not in causes(slack, 1.1)


def test_more_messages_in_flight_are_tried_once():
    full = made(server=0.0)
    found, seen = diagnose(full), observe(full)
    assert [each.inflight for each in variants_for(found, seen, more_in_flight=True) if each.inflight] == [2048]
    assert not any(each.inflight for each in variants_for(found, seen))
    waiting = made(client=0.8, server=0.7)
    names = [each.name for each in variants_for(diagnose(waiting), observe(waiting), more_in_flight=True)]
    assert names.count("remedy: in-flight") == 1
