"""Remedies that need a new start run in turns with the file, and what they brought is measured."""

import pytest
from diagnosed_runs import experimental, made
from scenario_tools import ECHO, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.parts.diagnose import turns
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.turns import CHANGE, execute_in_turns, remedies_in_turns
from windtunnel.runs.validity import ExcludedWindow, Validity

MTU = "client.mtu=9000 server.mtu=9000"


def with_turns(tmp_path, monkeypatch, runs):
    """An experiment, beside which there are the runs of `runs` by their place below turns/."""
    for place in runs:
        (tmp_path / turns.DIRECTORY / place).mkdir(parents=True)

    def load(directory):
        run = runs[str(directory.relative_to(tmp_path / turns.DIRECTORY))]
        if run is None:
            raise UserError("no run")
        return run

    monkeypatch.setattr(turns, "load", load)
    run = experimental({"client": 25.0, "server": 0.0})
    return type(run)(tmp_path / "experiment", run.record, run.windows)


def pair(code, factor, change=MTU, **b):
    labels = {CHANGE: change}
    return {
        f"{code}/a": made(labels=labels, messages=500_000),
        f"{code}/b": made(labels=labels, messages=round(500_000 * factor), **b),
    }


def test_what_a_remedy_brought_is_by_pairs_of_windows(tmp_path, monkeypatch):
    run = with_turns(tmp_path, monkeypatch, pair("mtu", 4.0))
    (remedy,) = remedies_in_turns(run)
    assert (remedy.code, remedy.sets) == ("mtu", MTU.split())
    assert remedy.gain.low == pytest.approx(300.0) and remedy.gain.high == pytest.approx(300.0)
    first = diagnose(run).causes[0]
    assert (first.code, first.gain.basis, first.confidence) == ("mtu", "measured", "high")


def test_a_pair_counts_if_both_of_its_windows_do(tmp_path, monkeypatch):
    marks = [ExcludedWindow(engine="windtunnel", window=n, reasons=["preempted"]) for n in range(6)]
    runs = pair("mtu", 2.0, validity=Validity(checks=[], excluded=marks))
    (remedy,) = remedies_in_turns(with_turns(tmp_path, monkeypatch, runs))
    assert remedy.gain.mean == pytest.approx(100.0) and remedy.gain.low is None, "6 pairs are left"


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_a_remedy_that_brought_nothing_in_turns_is_no_cause(tmp_path, monkeypatch, factor):
    run = with_turns(tmp_path, monkeypatch, pair("mtu", factor))
    assert "mtu" not in {cause.code for cause in diagnose(run).causes}


@pytest.mark.parametrize(("code", "change"), [("mtu", 'client.mtu="'), ("MTU\x1b[2J", MTU), ("\udcff", MTU)])
def test_runs_that_nobody_made_in_turns_say_nothing(tmp_path, monkeypatch, code, change):
    assert remedies_in_turns(with_turns(tmp_path, monkeypatch, pair(code, 2.0, change))) == []


def test_runs_that_were_cut_short_say_nothing(tmp_path, monkeypatch):
    runs = {"mtu/a": made(), "mtu/b": None}
    assert remedies_in_turns(with_turns(tmp_path, monkeypatch, runs)) == []
    assert remedies_in_turns(experimental({"client": 25.0, "server": 0.0})) == [], "nothing is beside it"


@pytest.mark.slow
def test_a_remedy_runs_in_turns_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LENGTH", ("duration=400ms", "warmup=20ms", "window=20ms"))
    file = written(tmp_path, ECHO | {"client": {"mempool": {"cache": 0}}})
    remedies = {"mempool-cache": ["client.mempool.cache=256"], "refused": ["client.mempool.cache=many"]}
    with Interrupts() as interrupts:
        execute_in_turns(file, [], remedies, tmp_path / turns.DIRECTORY, interrupts)
    assert [place.name for place in (tmp_path / turns.DIRECTORY).iterdir()] == ["mempool-cache"]
    run = experimental({"client": 25.0, "server": 0.0})
    (remedy,) = remedies_in_turns(type(run)(tmp_path / "experiment", run.record, run.windows))
    assert (remedy.code, remedy.sets) == ("mempool-cache", ["client.mempool.cache=256"])
    assert remedy.gain.mean > -100
