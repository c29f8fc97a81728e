"""The probe measures what is here, and says what is not."""

import json
from types import SimpleNamespace

import pytest
from journal_tools import left_in
from sample_sharing import reading
from sharing_tools import alone_on_this_machine, needs_rights
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.finding import Finding
from windtunnel.host import levels
from windtunnel_sharing import journal, polling_trial
from windtunnel_sharing.costs import Choice, Cost, choose, kept
from windtunnel_sharing.pools.shield import NoRealTime
from windtunnel_sharing.probe import Measured, Probe, probe, to_keep
from windtunnel_sharing.slicers import SLICERS

alone = pytest.fixture(alone_on_this_machine)


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "directory", lambda: tmp_path / "run")
    monkeypatch.setattr(levels, "default_file", lambda: tmp_path / "state" / "host-states.json")
    return tmp_path


@pytest.mark.alone
@pytest.mark.slow
@needs_rights
def test_every_slicer_is_measured_or_missing_with_a_reason(places, alone):
    words = ["share", "probe", "--seconds", "0.2", "--rounds", "1", "--tenants", "2", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["measured"]] == list(SLICERS)
    for one in found["measured"]:
        if one["missing"] is None:
            assert one["latency_p50_us"] > 0 and 0 < one["throughput"] and 0 <= one["loss"] < 1
        else:
            assert one["throughput"] is None
    assert choose(kept(found["cpu"]), 0.08) == (Choice(**found["picked"]) if found["picked"] else None)
    assert left_in(places / "run") == []


def measured(name, **others):
    return Measured(name, "", **({"latency_p99_us": 459.0, "turn_us": 10.0} | others))


def probed(*them, cpu=1, shield=True):
    return Probe(cpu, 150_000, 4, 0.5, 3, shield, list(them), [(20_000, 250)], 10**9)


def test_what_tells_nothing_is_not_kept():
    neighbour = (Finding("neighbour", "", "", ""),)
    found = probed(
        measured("tick"),
        measured("kicker", findings=neighbour),
        measured("rotor", latency_p99_us=None),
        Measured("hrtick", "", missing="locked"),
        measured("rotor-far"),
    )
    assert to_keep(found).costs == {"rotor-far": Cost(turn_ns=10_000, p99_us=459, late=[])}
    assert to_keep(found).gaps == [(20_000, 250)]


def test_a_slicer_that_the_shield_has_no_budget_for_is_missing(monkeypatch):
    monkeypatch.setattr("windtunnel_sharing.probe.SLICERS", {"rotor": SLICERS["rotor"]})
    monkeypatch.setattr(polling_trial, "run", lambda journal, name, *others, **more: _refuse(name))
    found = probe(None, 0, rounds=1)
    assert [(one.name, one.missing) for one in found.measured] == [("rotor", "no budget")]


@pytest.fixture
def trials_of(monkeypatch):
    """Has a rotor probed whose trials have these p99s."""

    def probed_with(*p99s_us: float | None) -> Probe:
        each = iter(p99s_us)
        monkeypatch.setattr("windtunnel_sharing.probe.SLICERS", {"rotor": SLICERS["rotor"]})
        monkeypatch.setattr(SLICERS["rotor"], "missing", lambda cpu: None)
        monkeypatch.setattr(
            polling_trial,
            "run",
            lambda journal, name, *others, **more: _trial(name, next(each) if name == "rotor" else 1.0),
        )
        return probe(None, 0, rounds=len(p99s_us))

    return probed_with


def test_every_metric_is_the_middle_of_its_trials(trials_of):
    """The least p99 of several trials is below what a trial shows."""
    found = trials_of(900.0, 500.0, 650.0)
    (rotor,) = found.measured
    assert (rotor.slice_p99_us, rotor.latency_p50_us, rotor.latency_p99_us) == (90.0, 325.0, 650.0)
    assert to_keep(found).costs["rotor"].p99_us == 650.0


def test_a_p99_that_one_trial_did_not_have_is_not_known(trials_of):
    found = trials_of(900.0, None, 650.0)
    assert found.measured[0].latency_p99_us is None and to_keep(found).costs == {}


def _trial(name, p99_us):
    """None: it had too few responses for a p99."""
    return SimpleNamespace(
        name=name,
        tenants=(),
        slicer=reading(0),
        poll_ns=50.0,
        useful=lambda poll_ns: 0.9,
        loss=0.1,
        off_points=0.0,
        slice_us=lambda percent: 90.0,
        latency_us=lambda percent: p99_us if percent == 99 else 325.0,
    )


def _refuse(name):
    if name == "rotor":
        raise NoRealTime("no budget")
    return SimpleNamespace(tenants=())


@pytest.mark.parametrize(
    "words",
    [
        ["--slice", "100"],
        ["--slice", "1us"],
        ["--tenants", "0"],
        ["--cpu", "4095"],
        ["--rate", "fast"],
        ["--seconds", "0"],
        ["--rounds", "0"],
        ["--max-loss", "1"],
    ],
)
def test_what_cannot_be_probed_is_refused(places, words):
    done = CliRunner().invoke(app, ["share", "probe", *words])
    assert done.exit_code == 2 or isinstance(done.exception, UserError)
