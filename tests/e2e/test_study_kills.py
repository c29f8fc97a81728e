"""kill -9, at moments that nobody chose: a study that was killed ends with the very runs of one that was left alone."""

import json
import os
import random
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from children import children
from fake_runs import FAKE, gone
from study_tools import COMMAND, HEAD, SCENARIO, finished, on_paper, runs, written

from windtunnel.engine import leftovers
from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.measure.study.query import query

FACTORS = """\
[[factor]]
key = "client.inflight"
values = [64, 128]
[[factor]]
name = "batch"
keys = ["server.batch.app_rx", "client.batch.app_tx"]
values = [16, 32]
[[factor]]
key = "workload.0.request"
values = ["64B", "128B"]
"""
SHORT = SCENARIO.replace("60ms", "20ms").replace('"20ms"\nwindow = "20ms"', '"0s"\nwindow = "10ms"')
LEAN = """\
retries = 0
state_repeats = {state_repeats}
constraints = ["batch = 16 or inflight = 128", "request = 64 or batch = 32 or inflight = 64"]
"""
POINTS = 5
TIMES = 4


def begun(file: Path, out: Path, engine: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [*COMMAND, "study", str(file), "--out", str(out), "--quiet"],
        env=os.environ | {"WINDTUNNEL_ENGINE": str(engine)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill(process: subprocess.Popen, engines_too: bool) -> None:
    """kill -9, of the engines that run as well where `engines_too`; none outlives it."""
    before = children(process.pid)
    process.kill()
    for pid in before if engines_too else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.communicate()
    assert all(gone(pid) for pid in before)


def finished_runs(out: Path) -> int:
    return len(list((out / "runs").glob("*"))) if (out / "runs").is_dir() else 0


@pytest.mark.parametrize("which", ["fake", "real"])
def test_a_study_killed_four_times_ends_with_the_same_runs(tmp_path, which):
    engine = FAKE if which == "fake" else find_engine()
    file, out = written(tmp_path, FACTORS, HEAD + LEAN.format(state_repeats=0), SHORT), tmp_path / "out"
    killed_often(file, out, engine, which == "real")
    process = begun(file, out, engine)
    said, _ = process.communicate(timeout=120)
    assert process.returncode in (0, 1), said  # short runs on a busy host may be invalid
    with on_paper():
        one_side = finished(file, tmp_path / "one_side")
    assert runs(out) == runs(one_side.path) and len(runs(out)) == 3 * POINTS
    counted = query("select count(*), count(distinct (point, repeat)), min(attempt), max(attempt) from results", [out])
    assert counted.rows == [(3 * POINTS, 3 * POINTS, 1, 1)]
    assert (out / "study.json").read_bytes() and (out / "report.html").is_file()
    for record in (json.loads(path.read_text()) for path in out.glob("aborted/*/run.json")):
        assert record["finished"] is None
        for one in record["engines"]:
            assert not (leftovers.runtime_directory() / "dpdk" / one["plan"]["eal"]["file_prefix"]).exists()


def killed_often(file: Path, out: Path, engine: Path, real: bool = False) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    dice = random.Random(seed)
    print(f"seed {seed}")
    for time in range(TIMES):
        target = finished_runs(out) + dice.randrange(1, 4)
        process = begun(file, out, engine)
        while finished_runs(out) < target and process.poll() is None:
            threading.Event().wait(0.005)
        threading.Event().wait(dice.uniform(0, 0.4 if real else 0.15))
        assert process.poll() is None, process.stdout.read()
        kill(process, engines_too=bool(time % 2))
        assert all(json.loads(path.read_text()) for path in out.glob("runs/*/run.json"))


def test_a_study_killed_while_it_repeats_runs_for_their_state_repeats_no_more_than_it_may(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_LINE_NS", "91,425")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file, out = written(tmp_path, FACTORS, HEAD + LEAN.format(state_repeats=1.0), SHORT), tmp_path / "out"
    first = begun(file, out, FAKE)
    while finished_runs(out) <= 3 * POINTS and first.poll() is None:
        threading.Event().wait(0.005)
    assert first.poll() is None, first.stdout.read()  # of 15 runs, all in one state: once in 16,000 times
    kill(first, engines_too=True)
    said, _ = begun(file, out, FAKE).communicate(timeout=120)
    names = runs(out)
    again = [name for name in names if "-a" in name]
    assert len(names) - len(again) == 3 * POINTS and 0 < len(again) <= 3 * POINTS, said
    counted = query("select count(*), count(distinct (point, repeat)), count(host_state) from results", [out])
    assert counted.rows == [(3 * POINTS,) * 3]
    said, _ = begun(file, out, FAKE).communicate(timeout=120)
    assert runs(out) == names, said


def test_killed_while_study_json_was_written(tmp_path):
    """What a process killed at its first steps leaves: a directory, a lock that nobody holds, half a file of another name."""
    file, out = written(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / ".lock").touch()
    (out / ".study.json.tmp").write_text('{"version": 1, "tit')
    with on_paper():
        assert finished(file, out).finished == 9


def test_killed_while_the_table_was_written(tmp_path):
    file, out = written(tmp_path), tmp_path / "out"
    with on_paper():
        study = finished(file, out)
        study.results.unlink()
        (out / ".results.parquet.tmp").write_text("PAR1")
        (out / ".results.parquet.json").write_text('{"point": 1')
        with pytest.raises(UserError, match="no results.parquet yet"):
            query("from results", [out])
        assert finished(out, None).rows == study.rows
    assert not list(out.glob(".results*"))
    assert query("select count(*) from results", [out]).rows == [(9,)]
