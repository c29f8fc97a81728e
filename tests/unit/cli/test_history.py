"""`windtunnel history` as a user types it, on labelled runs that were never run."""

import json
import sys
from types import SimpleNamespace

import pytest
from command_line import SCENARIO as FILE
from command_line import environment, windtunnel
from comparing import SCENARIO
from histories import history_of, noisy

from windtunnel.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.fake_engine]
FLAT = 10


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    """The command in this process, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment("run", XDG_CACHE_HOME=str(tmp_path / "cache"), COLUMNS="200").items():
        monkeypatch.setenv(name, value)

    def tell(*arguments):
        monkeypatch.setattr(sys, "argv", ["windtunnel", "history", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=said.out, stderr=said.err)

    return tell


def scenario(batch: int) -> dict:
    return SCENARIO | {"server": {"batch": {"app_rx": batch}}}


def test_a_planted_regression_of_5_percent_is_found(told, tmp_path):
    history_of(tmp_path / "runs", noisy(30, 11, 18, -0.05))
    done = told("--fail-if", "regression")
    assert done.returncode == 1
    assert "failed: L-App echo: regression: commit=c18 (2026-12-10 12:00): echo responses_per_s -" in done.stderr
    assert "regression with commit=c18" in done.stdout
    said = json.loads(told("runs", "--json").stdout)
    (found,) = said["histories"]
    (decider,) = [metric for metric in found["states"][0]["metrics"] if metric["decides"]]
    (change,) = decider["changes"]
    assert found["states"][0]["runs"][change["run"]]["labels"] == {"commit": "c18"}
    assert change["interval"]["low"] < change["interval"]["high"] < 0


def test_none_is_found_in_10_histories_without_one(told, tmp_path):
    for number in range(FLAT):
        history_of(tmp_path / "runs" / str(number), noisy(30, 100 + number), scenario=scenario(8 + number))
    done = told("--fail-if", "regression", "--json")
    assert done.returncode == 0 and done.stderr == ""
    found = json.loads(done.stdout)["histories"]
    assert len(found) == FLAT
    assert not [m for h in found for s in h["states"] for m in s["metrics"] if m["decides"] and m["changes"]]


def test_too_few_runs_are_said_and_are_no_pass(told, tmp_path):
    history_of(tmp_path / "runs", noisy(3, 1))
    done = told()
    assert done.returncode == 3 and "L-App echo: cannot tell: too few runs: 3 runs, 12 are needed" in done.stdout
    done = told("--fail-if", "regression")
    assert done.returncode == 3 and "too few runs: 3 runs, 12 are needed" in done.stderr


def test_runs_of_a_scenario_file_are_found_by_its_keys(told, tmp_path):
    (tmp_path / "echo.toml").write_text(FILE.format(duration="200ms"))
    for run in ("one", "two"):
        windtunnel("run", "echo.toml", "--out", f"runs/{run}", "-q", "--no-report", "--label", "fw=1", cwd=tmp_path)
    history_of(tmp_path / "runs" / "others", noisy(2, 1))
    done = told("echo.toml", "--json")
    (found,) = json.loads(done.stdout)["histories"]
    runs = [run for each in found["states"] for run in each["runs"]]
    assert len(runs) + found["invalid"] == 2 and {run["labels"]["fw"] for run in runs} <= {"1"}
    done = told("echo.toml", "--set", "server.batch.app_rx=7")
    assert done.returncode == 2 and "no run of this scenario" in done.stderr


def test_the_newest_version_of_a_label_comes_last(told, tmp_path):
    history_of(tmp_path / "runs", noisy(4, 1), labels=lambda n: {"fw": "ba"[n % 2]} if n else {})
    (found,) = json.loads(told("runs", "--by", "fw", "--json").stdout)["histories"]
    assert [run["labels"]["fw"] for run in found["states"][0]["runs"]] == ["a", "a", "b"]
    assert found["unlabelled"] == 1


def test_a_label_that_is_none_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "echo.toml").write_text(FILE.format(duration="200ms"))
    for label in ("commit", "=a", "commit=a\tb"):
        done = windtunnel("run", "echo.toml", "--out", "run", "--label", label, cwd=tmp_path)
        assert done.returncode == 2 and f"--label {label!r}: " in done.stderr
    done = windtunnel("run", "echo.toml", "--label", "a=1", "--label", "a=2", cwd=tmp_path)
    assert done.returncode == 2 and "--label a: given twice" in done.stderr
    assert not (tmp_path / "run").exists() and not (tmp_path / "runs").exists()


def test_repeated_runs_have_the_labels(tmp_path):
    (tmp_path / "echo.toml").write_text(FILE.format(duration="200ms"))
    windtunnel("run", "echo.toml", "--repeat", "2", "--out", "runs", "-q", "--label", "fw=1", cwd=tmp_path)
    assert [json.loads(file.read_text())["labels"] for file in (tmp_path / "runs").glob("*/run.json")] == [
        {"fw": "1"}
    ] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: no such"),
        (["runs", "--by", "fw"], "--by fw: no run has this label"),
        (["runs", "--metric", "nonsense"], "--metric nonsense: no such metric"),
        (["runs", "--fail-if", "slower"], "not a condition"),
        (["runs", "--set", "seed=1"], "none is named"),
        (["runs", "--json", "-q"], "exclude each other"),
        (["empty"], "no run below empty"),
    ],
)
def test_bad_input_is_refused_in_words(told, tmp_path, arguments, said):
    (tmp_path / "empty").mkdir()
    history_of(tmp_path / "runs", noisy(1, 1))
    done = told(*arguments)
    assert done.returncode == 2 and said in done.stderr


def test_a_metric_that_is_asked_for_is_shown_without_a_change_too(told, tmp_path):
    history_of(tmp_path / "runs", noisy(12, 2))
    assert "p99" not in told("-q").stdout
    assert "L-App echo: no change point; the last runs would show a change of" in told("-q").stdout
    assert "echo p99 " in told("--metric", "p99").stdout and "other metrics" not in told("--metric", "p99").stdout
