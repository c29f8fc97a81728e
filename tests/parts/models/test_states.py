"""A model is fitted to runs of one host state, and says which; capacities that loads do not identify; sizes as texts; the thesis' form."""

import json

import numpy as np
import pytest
import sample_lines as sample
from planted_studies import ENTRIES, SIZES, a_ladder, a_study
from study_tools import invoke, refused

from windtunnel.host.states import Where
from windtunnel.parts.models import states, thesis
from windtunnel.parts.models.model_record import ModelRecord
from windtunnel.parts.models.queueing import QUEUES, Loads, capacity_interval
from windtunnel.runs import RunWriter, Verdict
from windtunnel.runs.validity import HostState, Validity

EXACT = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]
"""Sizes of studies/tables-exact.toml."""


def a_state(name, line_ns=None):
    return HostState(name=name, words="", windows=9, indexes=[], line_ns=line_ns, responses_per_s={}, p50_ns={})


def _where(state):
    return Where(state.name, state.line_ns) if state else Where()


def chosen(monkeypatch, tmp_path, *of_runs, workloads=1):
    """`of_runs`: the headline state of each run."""
    by_name = {f"r{n}": state for n, state in enumerate(of_runs)}
    monkeypatch.setattr(states, "_where", lambda directory: _where(by_name[directory.name]))
    return states.of_one_state(tmp_path, [{"directory": name} for name in by_name for _ in range(workloads)])


def test_runs_of_the_state_with_the_most_runs_are_used(monkeypatch, tmp_path):
    near, far, busy = a_state("one-l3", 91), a_state("two-l3s", 425), a_state("one-l3, sibling busy", 91)
    found = chosen(monkeypatch, tmp_path, far, near, near, None, busy, near, workloads=2)
    assert [row["directory"] for row in found.rows] == ["r1", "r1", "r2", "r2", "r5", "r5"]
    assert found.state == "one-l3"
    assert found.left_out == [
        "left out: 2 runs in another host state: two-l3s, one-l3, sibling busy",
        "left out: 1 run whose host state is not known",
    ]


def test_runs_from_before_a_second_level_was_seen_are_matched_by_their_round_trips(monkeypatch, tmp_path):
    early, near, far = a_state("one-level", 88), a_state("one-l3", 91), a_state("two-l3s", 425)
    found = chosen(monkeypatch, tmp_path, early, near, far, far, near)
    assert found.state == "one-l3" and len(found.rows) == 3
    assert chosen(monkeypatch, tmp_path, a_state("one-level"), far, far).state == "two-l3s"
    assert chosen(monkeypatch, tmp_path, early, early).state == "one-level"


def test_states_that_are_seldom_known_choose_nothing(monkeypatch, tmp_path):
    found = chosen(monkeypatch, tmp_path, a_state("one-l3"), None, None)
    assert found.state is None and len(found.rows) == 3 and found.left_out == []


def test_the_state_of_a_run_is_the_one_its_metrics_are_of(tmp_path):
    near, far = a_state("one-l3", 91), a_state("two-l3s", 425)
    validities = {
        "r0": Validity(checks=[], excluded=[], states=[far, near], headline="one-l3"),
        "r1": Validity(checks=[], excluded=[]),
        "r2": Validity(checks=[], excluded=[], states=[near], headline="one-l3"),
    }
    for name, validity in validities.items():
        writer = RunWriter(tmp_path / name, sample.spec(), {"hostname": "here"})
        for line in sample.engine_lines(sample.plan()):
            writer.line("windtunnel", line, line.model_dump_json())
        writer.finish(Verdict(True), validity)
    found = states.of_one_state(tmp_path, [{"directory": name} for name in ("r0", "r1", "r2", "gone")])
    assert [row["directory"] for row in found.rows] == ["r0", "r2"] and found.state == "one-l3"
    assert found.left_out == ["left out: 2 runs whose host state is not known"]


@pytest.fixture
def states_of_runs(monkeypatch):
    """Every second run is in another state, in which all is twice as expensive."""
    monkeypatch.setattr(
        states,
        "_where",
        lambda directory: Where(*(("two-l3s", 425) if directory.name.endswith("r2") else ("one-l3", 91))),
    )


@pytest.mark.slow
def test_a_model_is_of_one_state_and_says_so_with_every_prediction(tmp_path, states_of_runs, ladder_file):
    def cells(point, own):
        return {"server_disp_rx_work_ns": 20 + own * point[ENTRIES] / (point[ENTRIES] + 1e4)}

    study = a_study(tmp_path / "s", None, {ENTRIES: SIZES}, cells=cells, repeats=3)
    said = invoke("model", "fit", study, "--ladder", ladder_file, "--out", tmp_path / "m.json")
    model = ModelRecord.model_validate_json((tmp_path / "m.json").read_text())
    assert model.state == "one-l3" and model.provenance.runs == 2 * len(SIZES)
    assert model.provenance.left_out == [f"left out: {len(SIZES)} runs in another host state: two-l3s"]
    assert "host state one-l3: bands hold only in this state" in said
    one = ("model", "predict", tmp_path / "m.json", "--entries", "1M")
    assert "host state one-l3" in invoke(*one) and json.loads(invoke(*one, "--json"))["state"] == "one-l3"


@pytest.fixture
def ladder_file(tmp_path):
    reported = [{"level": 1, "bytes": 32 << 10}, {"level": 2, "bytes": 1 << 20}]
    (tmp_path / "ladder.json").write_text(a_ladder(reported=reported).model_dump_json())
    return tmp_path / "ladder.json"


@pytest.mark.parametrize(("largest", "said"), [(10_000, False), (100_000, True)])
def test_tables_beyond_the_l2_are_said_to_depend_on_a_share_that_is_not_measured(tmp_path, ladder_file, largest, said):
    sizes = [float(n) for n in np.unique(np.round(np.geomspace(10, largest, 6)))]
    study = a_study(tmp_path / "s", lambda point: 20 + point[ENTRIES] / 1e3, {ENTRIES: sizes})
    words = " ".join(invoke("model", "fit", study, "--ladder", ladder_file).split())
    assert ("outgrow the L2, 1.00 MiB: which share of the L3 was this host's is not measured" in words) == said


def test_sizes_written_with_prefixes_are_numbers(tmp_path, ladder_file):
    texts = ["10k", "100", "1M", "1k", "100k", "10"]
    numbers = dict(zip(texts, (1e4, 1e2, 1e6, 1e3, 1e5, 1e1), strict=True))
    study = a_study(tmp_path / "s", lambda point: 11 + numbers[point[ENTRIES]] / 1e5, {ENTRIES: texts})
    model = ModelRecord.model_validate_json(invoke("model", "fit", study, "--ladder", ladder_file, "--json"))
    points = model.curves[0].points
    assert [point.entries for point in points] == sorted(numbers.values())
    assert points[-1].ns == pytest.approx(21, rel=0.05)


def test_a_size_that_is_no_number_is_refused(tmp_path, ladder_file):
    study = a_study(tmp_path / "s", lambda point: 30.0, {ENTRIES: ["few", "many"]})
    assert '"few" is not a count' in refused("model", "fit", study, "--ladder", ladder_file).message


@pytest.mark.slow
def test_the_thesis_own_study_is_fitted_with_its_own_form(tmp_path, ladder_file):
    """The help's example, on the sizes of studies/tables-exact.toml and the thesis' published curve."""

    def law(point):
        return float(thesis.published_mpps(np.array([point[ENTRIES]]))[0])

    study = a_study(tmp_path / "s", law, {ENTRIES: EXACT}, column="server_derived_mpps", noise=0.005)
    one = ("model", "fit", study, "--ladder", ladder_file, "--of", "server_derived_mpps", "--form", "two pieces")
    page = tmp_path / "page.html"
    said = invoke(*one, "--report", page)
    assert "this curve, below" in said and "this curve, above" in said
    assert "the thesis, below" in said and "1341.8" in said and "2.6766" in said
    assert "the thesis, above" in page.read_text()
    [curve] = ModelRecord.model_validate_json(invoke(*one, "--json")).curves
    assert curve.form == "two pieces" and len(curve.parameters) == 7
    below, above = thesis.coefficients(curve.form, [parameter.value for parameter in curve.parameters])
    fitted = np.where(np.array(EXACT) < curve.parameters[0].value, *(_mpps(one) for one in (below, above)))
    assert fitted == pytest.approx(thesis.published_mpps(np.array(EXACT)), rel=0.03)


def _mpps(one):
    return one.a / (np.array(EXACT) + one.k) + one.d


def test_the_thesis_coefficients_are_those_of_its_published_curve():
    entries = np.geomspace(1, 1e7, 15)
    for one, (a, b, k, d) in zip(thesis.published(), thesis.PUBLISHED, strict=True):
        assert one.a / (entries + one.k) + one.d == pytest.approx(a / (b * entries + k) + d)
    [of_cost] = thesis.coefficients("one piece", [500.0, 50.0, 20.0])
    assert of_cost.a / (entries + of_cost.k) + of_cost.d == pytest.approx(1e3 / (50 + 20 * entries / (entries + 500)))
    assert thesis.coefficients("linear", [1.0, 2.0]) == []


POLLING, NO_QUEUE = QUEUES[0], QUEUES[-1]


def loads_of(capacity, shares, noise=0.01, seed=1):
    rng = np.random.default_rng(seed)
    load = capacity * np.array(shares)
    wait = 1 / (1 - np.array(shares))
    ns = {
        name: (6e3 + b * wait) * np.exp(rng.normal(0, noise, len(load)))
        for name, b in (("p50", 2e3), ("p90", 3e3), ("p99", 5e3))
    }
    return Loads(load, ns)


@pytest.mark.parametrize("seed", range(5))
def test_a_capacity_near_the_loads_is_identified_and_one_far_above_them_is_not(seed):
    low, high = capacity_interval(POLLING, loads_of(2e6, (0.1, 0.3, 0.5, 0.7, 0.8, 0.9), seed=seed))
    assert high is not None and low < high < 1.2 * low and low * 0.97 < 2e6 < high * 1.03
    low, high = capacity_interval(POLLING, loads_of(150e6, (0.005, 0.008, 0.01, 0.013, 0.016, 0.02), seed=seed))
    assert high is None and low < 150e6


def test_without_a_queue_no_capacity_is_identified():
    assert capacity_interval(NO_QUEUE, loads_of(2e6, (0.1, 0.3, 0.5, 0.7, 0.9)))[1] is None


def test_a_capacity_that_is_not_identified_is_not_printed(tmp_path):
    def cells(point, own):
        return {name: round(own * ns) for name, ns in (("p50", 8e3), ("p90", 11e3), ("p99", 19e3))}

    rates = ["250kpps", "500kpps", "1Mpps", "1500kpps", "2Mpps", "3Mpps"]
    study = a_study(tmp_path / "s", None, {"client.rate": rates}, cells=cells)
    file = tmp_path / "m.json"
    said = invoke("model", "fit", study, "--out", file, "--report", tmp_path / "m.html")
    assert "capacity not identified: the loads end at 3.00 M/s" in said and "capacity 1" not in said
    assert "capacity not identified" in (tmp_path / "m.html").read_text()
    at = ("model", "predict", file, "--rate")
    assert "latency at 1.20 M/s\ncapacity not identified" in invoke(*at, "1200kpps")
    assert json.loads(invoke(*at, "1Mpps", "--json"))["utilisation"] is None
    assert "do not identify the capacity" in refused(*at, "4Mpps").message
    assert "outside the loads" in invoke(*at, "4Mpps", "--extrapolate")
