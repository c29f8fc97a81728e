"""Tunings with the real engine: short ones, killed ones, and what their files mean."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from fake_runs import gone
from scenario_tools import LENIENT
from study_tools import COMMAND

SCENARIO = """\
# Which settings are the fastest?
duration = "200ms"
warmup   = "50ms"
window   = "100ms"

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


def begun(directory, *words):
    return subprocess.Popen(
        [*COMMAND, "tune", "echo.toml", "--out", "out", *SETS, *words],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(directory, *words, codes=(0, 1)):
    process = begun(directory, *words)
    said, _ = process.communicate(timeout=170)
    assert process.returncode in codes and "Traceback" not in said, said
    return said


def kept(directory):
    return {file.parent.name: file.read_bytes() for file in (directory / "out" / "trials").glob("*/trial.json")}


def test_a_tuning_killed_twice_repeats_no_trial_that_had_ended(files):
    words = ("--space", "space.toml", "--budget", "3")
    before = {}
    for wanted in (1, 2):
        process = begun(files, *words, "--quiet")
        while len(kept(files)) < wanted and process.poll() is None:
            threading.Event().wait(0.005)
        assert process.poll() is None, process.stdout.read()
        engines = [
            int(child)
            for file in Path(f"/proc/{process.pid}/task").glob("*/children")
            for child in file.read_text().split()
        ]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert all(gone(pid) for pid in engines)
        assert before.items() <= kept(files).items()
        before = kept(files)
    said = ended(files, *words)
    assert "trials were finished before" in said
    assert before.items() <= kept(files).items()
    out = files / "out"
    trials = [json.loads(text) for text in kept(files).values()]
    assert sum(trial["failure"] is None for trial in trials) == 3
    points = [trial["point"] for trial in trials]
    assert len({json.dumps(point) for point in points}) == len(points)
    assert "<title>" in (out / "report.html").read_text()
    for trial in trials:
        for n, pair in enumerate(trial["pairs"], start=1):
            for side in ("incumbent", "candidate"):
                run = json.loads((out / "trials" / f"{trial['number']:03}" / side / f"{n:02}" / "run.json").read_text())
                assert run["finished"] and (pair["excluded"] or run["verdict"]["valid"])
    if (out / "best.toml").exists():
        check = subprocess.run(
            [*COMMAND, "check", "out/best.toml"], cwd=files, capture_output=True, text=True, check=False
        )
        assert check.returncode == 0, check.stderr


def test_much_larger_bursts_are_found_and_written(files):
    """Bursts of 2 cost far more than any noise: the file has them, and the tuner takes them away."""
    stages = ("nic_rx", "disp_rx", "nic_tx", "disp_tx", "app_rx")
    batch = "\n".join(f"batch.{stage} = 2" for stage in stages)
    (files / "echo.toml").write_text(SCENARIO.replace("[client]\n", f"[server]\n{batch}\n\n[client]\n{batch}\n"))
    keys = [f"{side}.batch.{stage}" for side in ("client", "server") for stage in stages]
    (files / "space.toml").write_text(f'[[factor]]\nname = "burst"\nkeys = {json.dumps(keys)}\nvalues = [2, 8, 32]\n')
    ended(files, "--space", "space.toml", "--budget", "4", "--as", "axio", codes=(0,))
    out = files / "out"
    assert "nic_rx = 32" in (out / "best.toml").read_text()
    final = next(json.loads(file.read_text()) for file in out.glob("final-*/final.json"))
    assert final["confirmed"] and final["low"] > 0
    assert "kNICRxPostSize : 32" in (out / "recv_config.out").read_text()


def test_the_fewest_cores_at_a_rate(files):
    said = ended(files, "--objective", "cores", "--slo", "p99=1s", "--rate", "10k", "--json")
    found = json.loads(said)
    assert found["findings"][0].startswith("The file meets p99 at most 1s at 10kpps with 1 CPU")
    assert found["trials"] == 1 and found["stopped"] == "space"
    (trial,) = (json.loads(text) for text in kept(files).values())
    assert (
        len(trial["latency"]["ns"]) == 6
        and trial["latency"]["met"]
        and trial["latency"]["high"] == max(trial["latency"]["ns"])
    )


def test_a_front_at_a_rate(files):
    said = ended(files, "--objective", "pareto", "--rate", "10k", "--space", "space.toml", "--budget", "1", "--json")
    found = json.loads(said)
    assert found["counted"] == 1 and found["front"] and found["best_file"] is None
    assert (files / "out" / "report.html").is_file()


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
