"""The model of sharing: fitted to what was measured, held out, kept in a file, asked for advice."""

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest
from study_tools import invoke, refused

from windtunnel.errors import UserError
from windtunnel.sharing import changed_threads, polling_trial, probe
from windtunnel.sharing.model.advise import advise, slo_of
from windtunnel.sharing.model.estimators import Demand, Estimate, Fitted, Simulated
from windtunnel.sharing.model.fit import fit, medians
from windtunnel.sharing.model.form import Capacity, fit_capacity, refill_ns
from windtunnel.sharing.model.points import Point, read
from windtunnel.sharing.model.record import read as read_model
from windtunnel.sharing.probe import Cost, Kept
from windtunnel.sharing.simulate import Machine, Phase, Plan, Tenant, simulate

US = 1000
MEASURED = {
    2: {50: 58, 100: 106, 120: 127, 200: 206, 500: 502, 1000: 996},
    4: {50: 316, 100: 556, 120: 367, 200: 606, 1000: 3002},
    8: {50: 802, 100: 1353, 120: 844, 200: 1438, 500: 3505, 1000: 7210},
}
"""Tenants -> slice, us -> p99, us, at 5 krps each; the noisy point is left out."""
THROUGHPUT = {20: 0.63, 50: 0.84, 100: 0.90, 120: 0.94, 200: 0.96, 1000: 0.99}
"""Slice, us -> of one unshared, with 4 tenants."""
HOST = {"hostname": "there", "architecture": "x86_64", "cpus": {"model": "m", "online": [0, 1]}}


def point(tenants: int, slice_us: int, p99_us: float | None, **more) -> Point:
    values = {"slicer": "kicker", "service_ns": 2500, "rate": 5000.0, "served": 5000.0} | more
    return Point(tenants=tenants, slice_ns=slice_us * US, p99_ns=p99_us and p99_us * US, **values)


def measured() -> list[Point]:
    quiet = [point(n, slice_us, p99) for n, row in MEASURED.items() for slice_us, p99 in row.items()]
    full = [point(4, s, None, rate=2e5, served=share * 1e5) for s, share in THROUGHPUT.items()]
    loaded = [point(4, s, p99, rate=4e4, served=4e4) for s, p99 in ((500, 1600), (120, 390), (50, 276))]
    return quiet + full + loaded


def written(tmp_path, points) -> str:
    file = tmp_path / "trials.jsonl"
    file.write_text("".join(json.dumps(p.model_dump()) + "\n" for p in points))
    return str(file)


def test_what_was_measured_is_told_within_20_percent_by_a_model_that_had_not_seen_it():
    model = fit(measured(), "table", HOST, Machine())
    values = {one.name: one.value for one in [*model.capacity, *model.p99]}
    assert values["slice_ns"] == pytest.approx(7000, rel=0.15)
    assert values["turns"] == pytest.approx(1.0, abs=0.1), "p99 is (N - 1) x S"
    assert model.p99_errors.mape < 0.1
    assert model.p99_errors.within >= 0.9
    assert model.peak_errors.most < 0.1
    assert all(one.low <= one.value <= one.high for one in model.capacity)


def test_capacity_gives_back_the_numbers_that_made_the_points():
    true, machine = Capacity(7000, 300, 0.8), Machine()
    points = [
        point(n, s, None, service_ns=service, working_set=size, rate=1e9,
              served=true.peak(n, s * US, service, size, machine))
        for n in (1, 4, 8) for s in (50, 120, 1000) for service in (2000, 10_000) for size in (0, 1 << 20)
    ]  # fmt: skip
    found = fit_capacity(points, machine)
    assert (found.slice_ns, found.request_ns, found.refill) == pytest.approx((7000, 300, 0.8), rel=1e-3)


def test_refill_is_nothing_where_all_fit_and_more_of_a_short_slice():
    machine = Machine(l2_bytes=1 << 20)
    assert refill_ns(4, 100 * US, 1 << 18, machine) == 0
    assert refill_ns(1, 100 * US, 1 << 22, machine) == 0
    shares = [refill_ns(4, s * US, 1 << 20, machine) / (s * US) for s in (100, 1000, 4000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.34, abs=0.04)


def test_several_measurements_of_a_setting_are_one_point_of_their_median():
    several = [point(2, 120, p99) for p99 in (100, 120, 400)]
    assert [p.p99_ns for p in medians(several)] == [120 * US]


def test_a_file_of_trials_is_read_and_neighbours_are_left_out(tmp_path):
    points = [point(2, 120, 130, own_share=0.99), point(2, 120, 900, own_share=0.5)]
    file = written(tmp_path, points)
    with open(file, "a") as more:
        more.write(json.dumps({"arm": "of another figure"}) + "\n")
    found, said = read(tmp_path)
    assert [p.p99_ns for p in found] == [130 * US]
    assert "1 points excluded" in said[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("", "no point"),
        (
            '{"slicer": "k", "tenants": 0, "slice_ns": 1, "rate": 1, "p99_ns": 1, "service_ns": 1, "served": 1}',
            "greater",
        ),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_file_of_trials_is_refused(tmp_path, text, words):
    (tmp_path / "trials.jsonl").write_text(text + "\n" if text else "")
    with pytest.raises(UserError, match=words):
        read(tmp_path)


def test_too_few_settings_are_no_model():
    with pytest.raises(UserError, match="3 settings"):
        fit(measured()[:3], "table", HOST, Machine())
    with pytest.raises(UserError, match="several slicers"):
        fit([*measured(), point(2, 120, 100, slicer="tick")], "table", HOST, Machine())


def test_a_model_is_written_read_and_refused_on_another_host(tmp_path):
    file, model = written(tmp_path, measured()), tmp_path / "m.json"
    said = invoke("share", "fit", file, "--out", str(model))
    assert "held-out error" in said
    assert read_model(model).slicer == "kicker"
    assert "fitted: m.json" in invoke("share", "advise", "--slo", "p99=500us", "--tenants", "4", "--model", str(model))
    model.write_text(json.dumps(json.loads(model.read_text()) | {"host": HOST}))
    assert (
        "another host"
        in refused("share", "advise", "--slo", "p99=1ms", "--tenants", "4", "--model", str(model)).message
    )
    invoke("share", "advise", "--slo", "p99=1ms", "--tenants", "4", "--model", str(model), "--allow-other-host")
    model.write_text(json.dumps(json.loads(model.read_text()) | {"version": 7}))
    assert (
        "version 7" in refused("share", "advise", "--slo", "p99=1ms", "--tenants", "4", "--model", str(model)).message
    )


class Told:
    """An estimator by arithmetic: p99 = (n - 1) slices, up to one and a half CPUs' load."""

    source = "told"

    def at(self, tenants, slice_ns, demand):
        p99 = float(max((tenants - 1) * slice_ns, 2000))
        if demand.rate * demand.service_ns * tenants >= 1e9:
            return Estimate(None, None, None, 0.1)
        return Estimate(p99, 0.9 * p99, 1.1 * p99, 7000 / slice_ns)


QUIET = Demand(5000, 2000)


def test_the_longest_slice_on_the_fewest_cores_is_advised():
    found = advise(Told(), slo_of("p99=500us"), 8, QUIET, None)
    assert (found.chosen.cores, found.chosen.per_core, found.chosen.slice_ns) == (1, 8, 50 * US)
    found = advise(Told(), slo_of("p99=1100us"), 8, QUIET, None)
    assert found.chosen.slice_ns == 120 * US, "the upper end of the interval has to meet it"


def test_where_nothing_does_it_says_what_would():
    found = advise(Told(), slo_of("p99=100us"), 8, QUIET, 1)
    assert found.chosen is None
    assert (found.nearest.cores, found.nearest.slice_ns) == (1, 50 * US)
    assert (found.instead.cores, found.instead.per_core, found.instead.met) == (4, 2, True)
    alone = advise(Told(), slo_of("p99=1us"), 8, QUIET, None)
    assert (alone.chosen, alone.nearest.cores, alone.instead) == (None, 8, None)
    overload = advise(Told(), slo_of("p99=1s"), 2, Demand(1e6, 2000), None)
    assert overload.chosen is overload.nearest is None


def test_a_model_says_nothing_beyond_the_slices_that_were_measured():
    estimator = Fitted(fit(measured(), "table", HOST, Machine()), "m")
    assert estimator.at(4, 10 * US, QUIET) is None
    assert estimator.at(4, 5000 * US, QUIET) is None
    estimate = estimator.at(4, 120 * US, QUIET)
    assert estimate.low_ns < estimate.p99_ns < estimate.high_ns
    assert estimate.p99_ns == pytest.approx(370 * US, rel=0.1)
    assert estimator.at(4, 120 * US, Demand(2e5, 2500)).p99_ns is None, "overload"


def test_the_simulator_responses_as_it_simulates():
    estimate = Simulated("kicker", Machine()).at(4, 120 * US, QUIET)
    one = tuple(Tenant(f"t{i}", phases=(Phase(0, 5000),)) for i in range(4))
    latency = simulate(Plan(one, "kicker", 120 * US)).latency_ns()
    assert estimate.p99_ns == pytest.approx(np.percentile(latency, 99), rel=0.1)
    assert estimate.lost == pytest.approx(0.058, abs=0.01)
    assert Simulated("kicker", Machine()).at(4, 120 * US, Demand(2e5, 2500)).p99_ns is None


def test_advice_is_marked_and_for_machines(monkeypatch):
    monkeypatch.setattr(probe, "kept", lambda cpu, shield=True: [])
    assert "simulated, not measured" in invoke("share", "advise", "--slo", "p99=500us", "--tenants", "4")

    document = json.loads(invoke("share", "advise", "--slo", "p99=500us", "--tenants", "4", "--json"))
    assert document["source"] == "simulated, not measured"
    assert document["chosen"]["met"] is True


ASKED = ("share", "advise", "--slo", "p99=800us", "--tenants", "4")


@pytest.fixture
def probed(monkeypatch):
    """A host that was probed once."""
    cost = Cost(turn_ns=16_000, p99_us=465, late_ns=20_000, late_sd_ns=5000)
    kept = Kept(when=datetime(2026, 11, 23, tzinfo=UTC), slice_ns=150_000, tenants=4, costs={"rotor-far": cost})
    monkeypatch.setattr(probe, "kept", lambda cpu, shield=True: [kept])


def test_the_simulator_has_the_costs_of_this_host_once_it_was_probed(probed):
    found = json.loads(invoke(*ASKED, "--json"))
    assert found["source"] == "simulated, not measured, with this host's costs: rotor-far by 1 probe"
    assert (found["slicer"], found["measured"]) == ("rotor-far", None)
    chosen = found["chosen"]
    assert chosen["estimate"]["lost"] == pytest.approx(16_000 / chosen["slice_ns"], rel=0.2)
    own = json.loads(invoke(*ASKED, "--policy", "kicker", "--json"))
    assert own["source"] == "simulated, not measured" and own["slicer"] == "kicker"


def test_an_advice_is_checked_by_running_it(probed, monkeypatch):
    ran = []

    def run(journal, name, cpu, slice_ns, load, seconds, seed):
        ran.append((name, slice_ns, load.tenants, seed))
        return SimpleNamespace(latency_us=lambda percent: 700.0 + 50 * seed, loss=0.07 + seed / 100)

    monkeypatch.setattr(polling_trial, "run", run)
    monkeypatch.setattr(changed_threads, "held", lambda path: nullcontext())
    found = json.loads(invoke(*ASKED, "--check", "--json"))
    assert {one[:3] for one in ran} == {("rotor-far", found["chosen"]["slice_ns"], found["chosen"]["per_core"])}
    assert found["measured"]["p99_ns"] == 750_000 and found["measured"]["lost"] == 0.08
    assert (found["measured"]["low_ns"], found["measured"]["high_ns"]) == (700_000, 800_000)
    said = invoke(*ASKED, "--check")
    assert "measured on CPU" in said and "it meets the SLO" in " ".join(said.split())


@pytest.mark.parametrize(
    "more",
    [
        ("--slo", "p50=1ms"), ("--slo", "p99=0ns"), ("--slo", "p99=fast"), ("--tenants", "0"), ("--tenants", "100000"),
        ("--cores", "0"), ("--cores", "many"), ("--load", "-1"), ("--load", "0rps"), ("--service", "0ns"), ("--policy", "magic"),
        ("--model", "/nowhere/m.json"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused(more):
    asked = {"--slo": "p99=500us", "--tenants": "4"} | dict([more])
    assert refused("share", "advise", *(word for pair in asked.items() for word in pair)).remedy


def test_trials_of_fig10_are_points(tmp_path):
    row = {
        "arm": "kicker", "tenants": 4, "slice_us": 100, "load": 0.2, "offered_per_s": 40_100.0, "served_per_s": 40_000.0,
        "p99_ns": 300_000, "own_share": 0.99, "excluded": None,
    }  # fmt: skip
    rows = [row, row | {"excluded": "others had 20% of the tenants' core"}]
    (tmp_path / "trials.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    (tmp_path / "figure.json").write_text(json.dumps({"setting": {"slicer": "kicker"}}))
    (found,) = read(tmp_path)[0]
    assert (found.slicer, found.tenants, found.slice_ns, found.service_ns) == ("kicker", 4, 100 * US, 5000)
    assert (found.rate, found.served) == (10_000, 10_000)
