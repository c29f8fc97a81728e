"""`windtunnel run --repeat` and `--until`, with the fake engine: what is run, kept, shown, and said when it ends early."""

import json
import signal

import jsonschema
import pytest
from command_line import hanging
from study_tools import PaperSupervisor, invoke, on_paper, refused, show_two_levels

from windtunnel.runs import load
from windtunnel.schemas.generate import CHECKOUT


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    show_two_levels(monkeypatch, tmp_path)


@pytest.fixture
def paper(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAKE_LINE_NS", "91")
    with on_paper():
        yield


def repeated(*words, code=0):
    document = json.loads(invoke("run", *words, "--json", code=code))
    jsonschema.validate(document, json.loads((CHECKOUT / "schemas" / "repeated.json").read_text()))
    return document


def test_every_run_is_kept_and_the_table_shows_the_median_of_the_state(paper, scenario, tmp_path):
    said = invoke("run", scenario, "--repeat", 7, "--out", "here")
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == [f"{n:02}" for n in range(1, 8)]
    assert all(load(tmp_path / "here" / f"{n:02}").record.verdict.valid for n in range(1, 8))
    assert said.count(" of 7  one-l3  ") == 7
    words = " ".join(said.split())
    assert "one-l3 7 l_app responses_per_s 50.0 k/s 50.0 k/s .. 50.0 k/s 50.0 k/s .. 50.0 k/s" in words
    assert "7 runs on one-l3: 95% interval of the median within ±0.0%" in words


def test_it_stops_when_the_interval_is_narrow_enough(paper, scenario):
    document = repeated(scenario, "--until", "2%", "--out", "here")
    assert (len(document["runs"]), document["stopped"], document["most"], document["until"]) == (8, "reached", 30, 0.02)
    (state,) = document["states"]
    assert (state["state"], state["runs"]) == ("one-l3", 8)
    (metric,) = state["metrics"]
    assert metric["metric"] == "responses_per_s" and metric["low"] <= metric["median"] <= metric["high"]


def test_an_interval_that_is_not_reached_has_an_exit_code_of_its_own(paper, scenario):
    document = repeated(scenario, "--until", "2%", "--repeat", 5, "--out", "here", code=3)
    assert (len(document["runs"]), document["stopped"]) == (5, "all run")
    assert document["states"][0]["metrics"][0]["low"] is None
    said = invoke("run", scenario, "--until", "2%", "--repeat", 2, code=3)
    assert "±2.0% not reached with 2 runs on one-l3: no interval yet: it takes 8 runs of one state" in said


def test_runs_of_other_states_are_in_no_median(paper, scenario, monkeypatch):
    """Both states come: each has a row, and the one with the most runs decides."""
    trips, whole = iter(["91"] * 6 + ["425"] * 3), PaperSupervisor.run

    def run(self, plans, names):
        monkeypatch.setenv("FAKE_LINE_NS", next(trips))
        return whole(self, plans, names)

    monkeypatch.setattr(PaperSupervisor, "run", run)
    document = repeated(scenario, "--repeat", 9, "--out", "here")
    assert [run["state"] for run in document["runs"]] == ["one-l3"] * 6 + ["two-l3s"] * 3
    assert [(state["state"], state["runs"]) for state in document["states"]] == [("one-l3", 6), ("two-l3s", 3)]


def test_a_state_can_be_asked_for(paper, scenario):
    document = repeated(scenario, "--repeat", 2, "--state", "two-l3s", "--out", "here", code=1)
    assert document["states"] == []
    assert all("two-l3s, never came; seen: one-l3" in run["reasons"][0] for run in document["runs"])
    assert repeated(scenario, "--repeat", 2, "--state", "one-l3", "--out", "there")["states"][0]["runs"] == 2


def test_without_a_valid_run_there_is_nothing_to_show(paper, scenario, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "lose_mbufs")
    said = " ".join(invoke("run", scenario, "--repeat", 2, "--out", "here", code=1).split())
    assert "no valid run of 2" in said and said.count("invalid, in no median: ledger open") == 2


def test_a_refused_scenario_is_not_tried_again(paper, scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    assert "no interface wt0" in refused("run", scenario, "--repeat", 3, "--out", "here").message
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["01"]


def test_quiet_says_what_was_reached_and_where(paper, scenario):
    lines = invoke("run", scenario, "--repeat", 2, "--quiet", "--out", "here").splitlines()
    assert lines == ["2 runs on one-l3: no interval yet: it takes 6 runs of one state", "here"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repeat", 2, "--trace"], "--trace has no effect on repeated runs"),
        (["--until", "2%", "--metrics", ":9464"], "--metrics has no effect"),
        (["--repeat", 2, "--side", "server"], "--side has no effect"),
        (["--until", "2"], "--until 2: not above 0%"),
        (["--until", "0%"], "--until 0%: not above 0%"),
        (["--repeat", 2, "--set", "client.inflght=1"], "client.inflght"),
    ],
)
def test_bad_input_makes_no_directory(paper, scenario, tmp_path, words, said):
    assert said in refused("run", scenario, *words, "--out", "here").message
    assert not (tmp_path / "here").exists()


def test_a_directory_that_is_there_is_not_written_to(paper, scenario, tmp_path):
    (tmp_path / "here").mkdir()
    assert "exists already" in refused("run", scenario, "--repeat", 2, "--out", "here").message
    assert not list((tmp_path / "here").iterdir())


def test_ctrl_c_shows_what_there_is(scenario, tmp_path):
    repeat = ("run", scenario, "--repeat", 9, "--out", "here")
    with hanging(*repeat, cwd=tmp_path, at=3, windows="here/03/windows.jsonl", FAKE_LINE_NS="91") as process:
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said + errors, said + errors
    words = " ".join(said.split())
    assert "interrupted; 2 runs on one-l3" in words
    assert "here/03: invalid, in no median: stopped before the end" in words
