"""`windtunnel history` as a user types it, on labelled runs that were never run."""

import errno
import json
import os

import pytest
from comparing import SCENARIO
from histories import history_of, noisy

from windtunnel.index import index

FLAT, RUNS = 3, 14


@pytest.fixture
def told(typed, tmp_path):
    """`windtunnel history`, with a cache of its own."""
    return lambda *arguments: typed("history", *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"), COLUMNS="200")


def keys(batch: int) -> dict:
    return SCENARIO | {"server": {"batch": {"app_rx": batch}}}


@pytest.mark.slow
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
    assert change["low"] < change["high"] < 0


@pytest.mark.slow
def test_none_is_found_in_histories_without_one(told, tmp_path):
    for number in range(FLAT):
        history_of(tmp_path / "runs" / str(number), noisy(RUNS, 100 + number), scenario=keys(8 + number))
    done = told("--fail-if", "regression", "--json")
    assert done.returncode == 0 and done.stderr == ""
    found = json.loads(done.stdout)["histories"]
    assert len(found) == FLAT
    assert not [m for h in found for s in h["states"] for m in s["metrics"] if m["decides"] and m["changes"]]


def test_what_is_not_looked_at_is_said(told, tmp_path, monkeypatch):
    history_of(tmp_path / "runs", noisy(3, 1))
    assert "more is below it" not in told().stderr
    monkeypatch.setattr(index, "MOST_FILES", 2)
    assert "runs: more is below it than is looked at: name a directory in it" in told().stderr


def test_a_run_that_cannot_be_read_is_said(told, tmp_path):
    history_of(tmp_path / "runs", noisy(3, 1))
    assert "left out" not in told().stderr
    first, *_ = sorted((tmp_path / "runs").glob("*/run.json"))
    first.write_text("{")
    done = told()
    assert f"left out: 1 below runs, as {first.parent.name}/run.json: " in done.stderr
    assert "too few runs: 2 runs" in done.stdout


@pytest.mark.parametrize("how", ["link", "shut"])
def test_a_gate_is_not_passed_if_runs_are_left_out(told, tmp_path, monkeypatch, how):
    """The slower runs may be those that this user may not read, or links to an archive."""
    history_of(tmp_path / "runs", noisy(RUNS, 1))
    assert told("--fail-if", "regression").returncode == 0
    history_of(tmp_path / "archive", noisy(1, 2))
    if how == "link":
        (tmp_path / "runs" / "archived").symlink_to(next((tmp_path / "archive").glob("*/")))
        problem = "archived: a link, which is not followed"
    else:
        shut = tmp_path / "runs" / "shut"
        (tmp_path / "archive").rename(shut)
        scandir = os.scandir

        def only_those_of_this_user(place):
            if str(place) == str(shut):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
            return scandir(place)

        monkeypatch.setattr("windtunnel.tree.os.scandir", only_those_of_this_user)
        problem = "shut: Permission denied"
    done = told("--fail-if", "regression")
    assert done.returncode == 3 and f"left out: 1 below runs, as {problem}" in done.stderr
    assert json.loads(told("--json").stdout)["left_out"] == 1


def test_a_sent_run_writes_no_line_of_its_own(told, tmp_path):
    history_of(tmp_path / "runs", noisy(3, 1))
    first, *_ = sorted((tmp_path / "runs").glob("*/run.json"))
    record = json.loads(first.read_text()) | {"version": "9\npassed: all"}
    sent = first.parent.with_name("a\npassed: all")
    first.parent.rename(sent)
    (sent / "run.json").write_text(json.dumps(record))
    lines = told().stderr.splitlines()
    assert [line for line in lines if line.startswith("left out: 1")] and "passed: all" not in lines


def test_a_link_within_the_directory_leaves_nothing_out(told, tmp_path):
    history_of(tmp_path / "runs", noisy(RUNS, 1))
    (tmp_path / "runs" / "latest").symlink_to(next((tmp_path / "runs").glob("*/")))
    done = told("--fail-if", "regression")
    assert done.returncode == 0 and "left out" not in done.stderr


def test_too_few_runs_are_said_and_are_no_pass(told, tmp_path):
    history_of(tmp_path / "runs", noisy(3, 1))
    done = told()
    assert done.returncode == 3 and "L-App echo: cannot tell: too few runs: 3 runs, 12 are needed" in done.stdout
    done = told("--fail-if", "regression")
    assert done.returncode == 3 and "too few runs: 3 runs, 12 are needed" in done.stderr


def test_runs_of_a_scenario_file_are_found_by_its_keys(told, typed, scenario, tmp_path):
    for run in ("one", "two"):
        typed("run", scenario, "--out", f"runs/{run}", "-q", "--no-report", "--label", "fw=1")
    history_of(tmp_path / "runs" / "others", noisy(2, 1))
    (found,) = json.loads(told("echo.toml", "--json").stdout)["histories"]
    runs = [run for each in found["states"] for run in each["runs"]]
    assert len(runs) + found["invalid"] == 2 and {run["labels"]["fw"] for run in runs} <= {"1"}
    done = told("echo.toml", "--set", "server.batch.app_rx=7")
    assert done.returncode == 2 and "no run of this scenario" in done.stderr


def test_the_newest_version_of_a_label_comes_last(told, tmp_path):
    history_of(tmp_path / "runs", noisy(4, 1), labels=lambda n: {"fw": "ba"[n % 2]} if n else {})
    (found,) = json.loads(told("runs", "--by", "fw", "--json").stdout)["histories"]
    assert [run["labels"]["fw"] for run in found["states"][0]["runs"]] == ["a", "a", "b"]
    assert found["unlabelled"] == 1


@pytest.mark.parametrize(
    ("labels", "refusal"),
    [
        (["commit"], "--label 'commit': "),
        (["=a"], "--label '=a': "),
        (["commit=a\tb"], "--label 'commit=a\\tb': "),
        (["a=1", "a=2"], "--label a: given twice"),
    ],
)
def test_a_label_that_is_none_is_refused_before_anything_runs(typed, scenario, tmp_path, labels, refusal):
    done = typed("run", scenario, *(word for label in labels for word in ("--label", label)))
    assert done.returncode == 2 and refusal in done.stderr
    assert not (tmp_path / "runs").exists()


def test_repeated_runs_have_the_labels(typed, scenario, tmp_path):
    typed("run", scenario, "--repeat", "2", "--out", "runs", "-q", "--label", "fw=1")
    labels = [json.loads(file.read_text())["labels"] for file in (tmp_path / "runs").glob("*/run.json")]
    assert labels == [{"fw": "1"}] * 2


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
