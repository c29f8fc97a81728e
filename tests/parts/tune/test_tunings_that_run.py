"""Tunings with the real engine, and killed ones with the fake engine: what is tried, kept, and written in their files."""

import json
import os
import signal
import subprocess
import threading

import forked
import pytest
from command_line import environment
from fake_runs import gone
from processes import children
from scenario_tools import LENIENT

pytestmark = pytest.mark.slow

SCENARIO = """\
# Which settings are the fastest?
duration = "60ms"
warmup   = "20ms"
window   = "20ms"

[client]
inflight = 256

[[workload]]
handler = "l_app"
"""
SPACE = """\
[[factor]]
key = "client.inflight"
values = [32, 256, 1024]

[[factor]]
name = "burst"
keys = ["client.batch.nic_rx", "server.batch.nic_rx", "client.batch.disp_rx", "server.batch.disp_rx"]
values = [2, 32]
"""
SETS = [word for text in LENIENT for word in ("--set", text)]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO)
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


def begun(directory, *words, env=None):
    words = ("tune", "echo.toml", "--out", "out", *SETS, *words)
    return forked.Command(words, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(directory, *words, codes=(0, 1), env=None):
    process = begun(directory, *words, env=env)
    said, _ = process.communicate(timeout=170)
    assert process.returncode in codes and "Traceback" not in said, said
    return said


def kept(directory):
    return {file.parent.name: file.read_bytes() for file in (directory / "out" / "trials").glob("*/trial.json")}


def trials_of(directory) -> list[dict]:
    return [json.loads(text) for text in kept(directory).values()]


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.long("kills"))])
def test_a_killed_tuning_repeats_no_trial_that_had_ended(files, kills):
    (files / "space.toml").write_text(SPACE.replace("[32, 256, 1024]", "[32, 64, 128, 256, 512, 1024]"))
    words, env, before = ("--space", "space.toml", "--budget", f"{kills + 1}"), environment("run"), {}
    for wanted in range(1, kills + 1):
        process = begun(files, *words, "--quiet", env=env)
        while len(kept(files)) < wanted and process.poll() is None:
            threading.Event().wait(0.005)
        assert process.poll() is None, f"it ended before trial {wanted}: {process.stdout.read()}"
        engines = children(process.pid)
        process.kill()
        process.communicate()
        assert all(gone(pid) for pid in engines)
        assert before.items() <= kept(files).items()
        before = kept(files)
    said = ended(files, *words, env=env)
    assert "trials were finished before" in said or "1 trial was finished before" in said
    assert before.items() <= kept(files).items()
    points = [json.dumps(trial["point"]) for trial in trials_of(files)]
    assert len(set(points)) == len(points)


@pytest.mark.parametrize(
    "goal",
    [
        (),
        pytest.param(("--objective", "cores", "--slo", "p99=1s", "--rate", "10k"), marks=pytest.mark.long("crosses")),
        pytest.param(("--objective", "pareto", "--rate", "10k"), marks=pytest.mark.long("crosses")),
    ],
    ids=["throughput", "cores", "pareto"],
)
def test_a_tuning_keeps_every_run_and_what_it_shows(files, goal):
    """Which settings win is not a busy host's to say: test_tuner.py holds it."""
    out = files / "out"
    ended(files, "--space", "space.toml", "--budget", "1", *goal)
    assert "<title>" in (out / "report.html").read_text() and trials_of(files)
    for trial in trials_of(files):
        for n, pair in enumerate(trial["pairs"], start=1):
            for side in ("incumbent", "candidate"):
                run = json.loads((out / "trials" / f"{trial['number']:03}" / side / f"{n:02}" / "run.json").read_text())
                assert run["finished"] and (pair["excluded"] or run["verdict"]["valid"])
    if (out / "best.toml").exists():
        check = forked.run(["check", "out/best.toml"], cwd=files, text=True)
        assert check.returncode == 0, check.stderr


def test_a_closed_loops_latency_is_refused(files):
    said = ended(files, "--slo", "p99=50us", codes=(2,))
    assert "client's own queue" in said and not (files / "out").exists()


def test_interrupted_it_says_how_to_go_on(files):
    process = begun(files, "--space", "space.toml", "--budget", "3")
    while not list((files / "out").glob("trials/001/candidate/01/windows.jsonl")) and process.poll() is None:
        threading.Event().wait(0.01)
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "continue with the same command" in said, said
