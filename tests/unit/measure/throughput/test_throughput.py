"""Runs as trials of a search: what counts as lost, what is run, what is refused, what is kept."""

import json
from pathlib import Path

import fake_numbers
import pytest
import sample_lines as sample
import sample_records
from jsonschema import validate
from scenario_tools import written
from study_tools import invoke, on_paper, refused

import windtunnel
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.windows import Window
from windtunnel.measure.search import Goal
from windtunnel.measure.throughput.find import Finder, Options, Watch
from windtunnel.measure.throughput.search_options import options
from windtunnel.measure.throughput.search_record import SearchRecord
from windtunnel.measure.throughput.trials import at_rate, balance
from windtunnel.runs import EngineRecord, Run
from windtunnel.scenario import load
from windtunnel.schemas.generate import CHECKOUT

SCHEMA = json.loads((CHECKOUT / "schemas" / "search.json").read_text())
SCENARIO = {
    "duration": "60ms",
    "warmup": "20ms",
    "window": "20ms",
    "drain": "20ms",
    "client": {"rate": "1kpps", "inflight": 1024},
    "workload": [{"handler": "l_app"}],
}
CAPACITY = 50_000
QUICK = ("--trial", "40ms", "--trial-sum", "40ms", "--width", "10%", "--bursts", "0")


@pytest.fixture
def device(monkeypatch):
    """A fake engine that answers so many messages a second, on paper."""
    monkeypatch.setattr(fake_numbers, "CAPACITY", CAPACITY)
    with on_paper():
        yield


def searched(tmp_path, *more, code=0):
    """What a search of few and short trials has kept, and what it said."""
    command = ("search", written(tmp_path, SCENARIO), "--out", tmp_path / "found")
    said = invoke(*command, *QUICK, *more, code=code)
    return SearchRecord.model_validate_json((tmp_path / "found" / "search.json").read_text()), " ".join(said.split())


def finished(*changes: tuple[str, dict]) -> Run:
    """A run of one workload whose windows have these phases and counts."""
    of = sample.plan()
    shape = next(line for line in sample.engine_lines(of) if isinstance(line, Window))
    zero = dict.fromkeys(("offered", "sent", "responses", "lost", "late", "unsent", "in_flight"), 0)
    windows = [
        shape.model_copy(
            update={"index": n, "phase": phase, "workloads": [shape.workloads[0].model_copy(update=zero | counts)]}
        )
        for n, (phase, counts) in enumerate(changes)
    ]
    return Run(Path("run"), sample_records.record(EngineRecord(name="windtunnel", plan=of)), {"windtunnel": windows})


def test_after_the_drain_messages_without_response_are_lost_or_unsent():
    found = balance(
        finished(
            ("warmup", {"offered": 50, "unsent": 5}),
            ("measure", {"offered": 100, "lost": 3}),
            ("measure", {"offered": 100, "lost": 1, "unsent": 12, "in_flight": 40}),
            ("drain", {"lost": 6, "unsent": 12, "in_flight": 2}),
        )
    )
    assert (found.offered, found.unsent, found.lost) == (200, 7, 3 + 1 + 6 + 2)


def test_losses_of_the_warm_up_never_exceed_the_offered_messages():
    found = balance(finished(("measure", {"offered": 10, "lost": 40}), ("drain", {"unsent": 4})))
    assert found.lost + found.unsent == found.offered == 10


def test_a_search_finds_the_capacity_and_keeps_every_trial(tmp_path, device):
    record, said = searched(tmp_path, "--max", "200kpps", "--json")
    assert [goal.name for goal in record.goals] == ["NDR", "PDR"]
    for goal in record.goals:
        assert goal.irregular is None
        assert goal.relevant_lower_bound <= CAPACITY * 1.01 / (1 - goal.loss_ratio)
        assert goal.relevant_upper_bound >= CAPACITY * 0.99
        assert goal.conditional_throughput <= goal.relevant_lower_bound
    runs = {path.parent.name for path in (tmp_path / "found").glob("*/run.json")}
    assert {trial.run for trial in record.trials} | {row.run for row in record.latency} == runs
    assert [row.share for row in record.latency] == [0.1, 0.5, 0.9]
    on_disk = json.loads((tmp_path / "found" / "search.json").read_text())
    assert on_disk == json.loads(said)
    validate(on_disk, SCHEMA)
    page = (tmp_path / "found" / "report.html").read_text()
    assert page.rstrip().endswith("</html>") and "NDR" in page


def test_without_a_greatest_load_a_search_begins_with_a_closed_loop(tmp_path, device):
    record, _ = searched(tmp_path, "--no-report", "--no-latency", code=1)
    # the fake engine answers 1000 messages a window, and this run is one window of a second
    assert record.closed_loop_per_s == pytest.approx(1000)
    assert record.max_load == pytest.approx(1.5 * record.closed_loop_per_s)
    assert not (tmp_path / "found" / "report.html").exists()


def test_a_latency_goal_is_limited_by_loss_too(tmp_path, device):
    """The fake engine says that all responses took at most 3 us, and loses what is above its capacity."""
    record, said = searched(tmp_path, "--max", "200kpps", "--goal", "p99=10us", "--goal", "loss=0.1%")
    (goal,) = record.goals
    assert (goal.name, goal.loss_ratio, goal.irregular) == ("p99", 0.001, None)
    assert goal.latency.model_dump() == {
        "percentile": 99.0,
        "limit_ns": 10_000.0,
        "ns": 3001.0,
        "low_ns": None,
        "high_ns": None,
    }
    assert goal.relevant_lower_bound <= CAPACITY * 1.011 and goal.relevant_upper_bound >= CAPACITY * 0.99
    counted = [trial for trial in record.trials if trial.excluded is None]
    assert {trial.percentiles_ns["p99"] for trial in counted if trial.load < CAPACITY} == {3001.0}
    assert {trial.percentiles_ns["p99"] for trial in counted if trial.load > 2 * CAPACITY} == {None}
    assert "latency" in said and "3.00 µs" in said and "host state: not known" in said
    page = (tmp_path / "found" / "report.html").read_text()
    assert "<th>latency</th>" in page and "p99 10.0 µs, loss 0.10%" in page
    validate(json.loads(record.model_dump_json()), SCHEMA)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--max", "200kpps", "--goal", "p90=1us"), "no load that was offered does"),
        (("--max", "20kpps", "--no-latency"), "the limit lies above"),
    ],
)
def test_a_search_without_a_bound_is_irregular_and_ends_with_1(tmp_path, device, more, words):
    record, said = searched(tmp_path, *more, "--no-report", code=1)
    assert record.goals[0].irregular and "irregular" in said and words in said


def test_rfc_2544_runs_one_trial_a_load(tmp_path, device):
    record, _ = searched(tmp_path, "--method", "rfc2544", "--max", "200kpps", "--no-latency", "--no-report")
    (goal,) = record.goals
    assert goal.name == "throughput" and goal.irregular is None
    loads = [trial.load for trial in record.trials]
    assert len(set(loads)) == len(loads)


def test_rejected_metrics_count_only_on_request_and_are_counted(tmp_path, device, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    record, said = searched(tmp_path, "--max", "200kpps", "--no-report", "--no-latency", "--include-invalid")
    assert record.included == [trial.run for trial in record.trials] and record.trials
    assert f"{len(record.trials)} invalid runs included (--include-invalid)" in said


def test_a_broken_run_ends_the_search_with_a_message(tmp_path, device, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    with pytest.raises(windtunnel.UserError, match="the run failed: ledger open: 3 mbufs missing"):
        windtunnel.search(written(tmp_path, SCENARIO), out=tmp_path / "found")
    assert json.loads((tmp_path / "found" / "trial-001" / "run.json").read_text())["verdict"]["valid"] is False


def test_an_interrupted_search_keeps_what_it_found(tmp_path, device):
    with Interrupts() as interrupts:

        def stop(trial, results):
            interrupts.count += 1

        goals = (Goal("NDR", 0.0, 0.5, 0.05, 0.04, 0.04, 0.12),)
        chosen = Options(goals=goals, max_load=2e5, latency=False, bursts=0)
        finder = Finder(written(tmp_path, SCENARIO), [], chosen, tmp_path / "found", interrupts, Watch(trial=stop))
        record = finder.find()
    assert finder.interrupted and record.stopped == "interrupted by the user"
    assert len(record.trials) == 1 and record.goals[0].irregular == "interrupted by the user"
    assert SearchRecord.model_validate_json((tmp_path / "found" / "search.json").read_text()) == record


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"workload": [{"handler": "l_app", "rate": "1kpps"}]}, "workload 0 has its own load (`rate`)"),
        ({"workload": [{"handler": "l_app", "phase": [{"duration": "1s", "rate": "1kpps"}]}]}, "(`phase`)"),
        (
            {"wire": {"kind": "null"}, "server": {}, "workload": [{"packet_handler": "drop"}]},
            'the wire "null" has no responses',
        ),
    ],
)
def test_scenarios_that_cannot_be_searched_are_refused_with_their_line(tmp_path, data, words):
    error = refused("search", written(tmp_path, data), "--out", tmp_path / "found")
    assert words in error.message and "test.toml:" in error.message and error.remedy
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    "more",
    [
        ("--goal", "NDR"),
        ("--goal", "NDR=x"),
        ("--goal", "A=0", "--goal", "A=1%"),
        ("--goal", "A=100%"),
        ("--goal", "p99=1%"),
        ("--goal", "p99=0us"),
        ("--goal", "p99=5ms", "--goal", "loss=1us"),
        ("--goal", "p99=5ms", "--goal", "loss=100%"),
        ("--goal", "p99.99=5ms"),
        ("--goal", "p99=5ms", "--min", "100pps"),
        ("--width", "0"),
        ("--width", "nan"),
        ("--exceed", "100%"),
        ("--trial", "0s"),
        ("--trial", "1"),
        ("--max", "5kz"),
        ("--min", "10kpps", "--max", "1kpps"),
        ("--within", "soon"),
        ("--json", "--quiet"),
    ],
)
def test_bad_options_are_refused_with_a_message(tmp_path, device, more):
    assert refused("search", written(tmp_path, SCENARIO), "--out", tmp_path / "found", *more).message
    assert not list((tmp_path / "found").glob("trial-*"))


def test_options_are_read_with_their_units():
    found = options("mlrsearch", ["A=0", "B=2.5%"], "1%", "25%", "500ms", "5s", "1kpps", "2Mpps", "1min", False, 0)
    assert [(goal.name, goal.loss_ratio) for goal in found.goals] == [("A", 0.0), ("B", 0.025)]
    assert {(g.width, g.exceed_ratio, g.final_trial_duration_s, g.duration_sum_s) for g in found.goals} == {
        (0.01, 0.25, 0.5, 5.0)
    }
    assert (found.min_load, found.max_load, found.time_s, found.latency, found.bursts) == (1e3, 2e6, 60.0, False, 0)


def test_goals_with_a_latency_are_read():
    def read(*goals, method="mlrsearch"):
        found = options(method, goals, "1%", "50%", "1s", "21s", None, None, None, False, 0).goals
        return [(g.name, g.loss_ratio, g.latency and (g.latency.share, g.latency.limit_ns)) for g in found]

    assert read("p99=50us") == [("p99", 0.01, (0.99, 5e4))]
    assert read("loss=0.1%", "p99.9=1ms", "NDR=0", "p50=900ns") == [
        ("p99.9", 0.001, (0.999, 1e6)),
        ("NDR", 0.0, None),
        ("p50", 0.001, (0.5, 900)),
    ]
    assert read("loss=2%") == [("loss", 0.02, None)], "without a latency it is a goal like any other"
    assert read("p90=1us", method="rfc2544") == [("p90", 0.1, (0.9, 1e3))]


def test_a_trial_is_the_scenario_at_another_rate(tmp_path):
    scenario = load(written(tmp_path, SCENARIO))
    changed = at_rate(scenario, 12345.5, 40_000_000, 0)
    assert changed.client.rate == 12345.5 and changed.client.inflight == scenario.client.inflight
    assert (changed.duration, changed.warmup, changed.window) == (40_000_000, 0, 40_000_000)
    assert at_rate(scenario, None, 40_000_000, 0).client.rate is None
