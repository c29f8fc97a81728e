"""The adviser: the simulator with this host's costs, asked for advice, and checked by a run."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import sample_sharing
from study_tools import invoke, refused

from windtunnel_sharing import changed_threads, costs, polling_trial
from windtunnel_sharing.advise import SHORT, Demand, Estimate, Estimator, advise, slo_of
from windtunnel_sharing.simulate import Machine, Phase, Plan, Tenant, simulate
from windtunnel_sharing.simulate.cache import refill_ns

US = 1000


def test_refill_is_nothing_where_all_fit_and_more_of_a_short_slice():
    machine = Machine(l2_bytes=1 << 20)
    assert refill_ns(4, 100 * US, 1 << 18, machine) == 0
    assert refill_ns(1, 100 * US, 1 << 22, machine) == 0
    shares = [refill_ns(4, s * US, 1 << 20, machine) / (s * US) for s in (100, 1000, 4000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.34, abs=0.04)


class Told:
    """An estimator by arithmetic: p99 = (n - 1) slices, up to one and a half CPUs' load."""

    source = "told"

    def at(self, tenants, slice_ns, demand):
        p99 = float(max((tenants - 1) * slice_ns, 2000))
        if demand.rate * demand.service_ns * tenants >= 1e9:
            return Estimate(None, None, 0.1)
        return Estimate(p99, 1.1 * p99, 7000 / slice_ns)


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


def test_an_estimate_is_what_the_simulator_simulates():
    estimate = Estimator("kicker", Machine()).at(4, 120 * US, QUIET)
    one = tuple(Tenant(f"t{i}", phases=(Phase(0, 5000),)) for i in range(4))
    latency = simulate(Plan(one, "kicker", 120 * US)).latency_ns()
    assert estimate.p99_ns == pytest.approx(np.percentile(latency, 99), rel=0.1)
    assert estimate.high_ns >= SHORT * estimate.p99_ns
    assert estimate.lost == pytest.approx(0.058, abs=0.01)
    assert Estimator("kicker", Machine()).at(4, 120 * US, Demand(2e5, 2500)).p99_ns is None


@pytest.mark.slow
def test_advice_is_marked_and_for_machines(monkeypatch):
    monkeypatch.setattr(costs, "kept", lambda cpu, shield=True: [])
    assert "simulated, not measured" in invoke("share", "advise", "--slo", "p99=500us", "--tenants", "4")

    document = json.loads(invoke("share", "advise", "--slo", "p99=500us", "--tenants", "4", "--json"))
    assert document["source"] == "simulated, not measured"
    assert document["chosen"]["met"] is True


ASKED = ("share", "advise", "--slo", "p99=800us", "--tenants", "4")


@pytest.fixture
def probed(monkeypatch):
    """A host that was probed once."""
    kept = sample_sharing.probed(rotor_far=(16, 465))
    monkeypatch.setattr(costs, "kept", lambda cpu, shield=True: [kept])


@pytest.mark.slow
def test_the_simulator_has_the_costs_of_this_host_once_it_was_probed(probed):
    found = json.loads(invoke(*ASKED, "--json"))
    assert found["source"] == "simulated, not measured, with this host's costs: rotor-far by 1 probe"
    assert (found["slicer"], found["measured"]) == ("rotor-far", None)
    chosen = found["chosen"]
    assert chosen["estimate"]["lost"] == pytest.approx(16_000 / chosen["slice_ns"], rel=0.2)
    own = json.loads(invoke(*ASKED, "--policy", "kicker", "--json"))
    assert own["source"] == "simulated, not measured" and own["slicer"] == "kicker"


@pytest.mark.slow
def test_an_advice_is_checked_by_running_it(probed, monkeypatch):
    ran = []

    def run(journal, name, cpu, slice_ns, load, seconds, seed):
        ran.append((name, slice_ns, load.tenants, seed))
        return SimpleNamespace(latency_us=lambda percent: 700.0 + 50 * seed, loss=0.07 + seed / 100)

    monkeypatch.setattr(polling_trial, "run", run)
    monkeypatch.setattr(changed_threads, "held", lambda *_, **__: nullcontext())
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
    ],
)  # fmt: skip
def test_bad_questions_are_refused(more):
    asked = {"--slo": "p99=500us", "--tenants": "4"} | dict([more])
    assert refused("share", "advise", *(word for pair in asked.items() for word in pair)).remedy


def test_what_no_slicer_is_cannot_be_checked(probed):
    assert "--check" in refused(*ASKED, "--policy", "pvcc", "--check").message
