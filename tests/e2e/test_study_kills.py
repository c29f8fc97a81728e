"""kill -9: a study that was killed ends with the very runs of one that was left alone. At chosen moments, and, in the long tier, at
moments that nobody chose."""

import json
import os
import random
import signal
import subprocess
import threading
from pathlib import Path

import forked
import pytest
from command_line import hanging
from fake_runs import FAKE, gone
from processes import children
from study_tools import HEAD, ONE_FACTOR, SCENARIO, Heard, finished, on_paper, runs, show_two_levels, written

from windtunnel.engine.find import find_engine
from windtunnel.engine.own_directory import runtime_directory
from windtunnel.errors import UserError
from windtunnel.measure.study.query import query

pytestmark = pytest.mark.slow

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
TWO_POINTS = ONE_FACTOR.replace("32, 64, 128", "64, 128")
TIMES = 4


def begun(file: Path, out: Path, engine: Path) -> subprocess.Popen:
    return forked.Command(
        ["study", str(file), "--out", str(out), "--quiet"],
        env=os.environ | {"WINDTUNNEL_ENGINE": str(engine)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def continued(file: Path, out: Path, engine: Path) -> None:
    """The study, to its end. Short runs on a busy host may be invalid."""
    process = begun(file, out, engine)
    said, _ = process.communicate()
    assert process.returncode in (0, 1), said


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


def assert_whole(file: Path, out: Path, points: int) -> None:
    """The study has the very runs of one that was left alone, each once, and its files; nothing of a killed run is left behind."""
    with on_paper():
        alone = finished(file, out.with_name("alone"))
    assert runs(out) == runs(alone.path) and len(runs(out)) == 3 * points
    counted = query("select count(*), count(distinct (point, repeat)), min(attempt), max(attempt) from results", [out])
    assert counted.rows == [(3 * points, 3 * points, 1, 1)]
    assert (out / "study.json").read_bytes() and (out / "report.html").is_file()
    assert all(json.loads(path.read_text())["finished"] is None for path in out.glob("aborted/*/run.json"))
    assert list(filter(Path.exists, runtime_directories(out))) == []


def test_a_study_killed_in_its_first_run_and_in_a_later_one_ends_with_the_same_runs(tmp_path):
    """While the engine stands still; once it goes on for a moment without its parent, once it is killed, too."""
    file, out = written(tmp_path, TWO_POINTS, HEAD + "retries = 0\n", SHORT), tmp_path / "out"
    for at, done, engines_too in ((1, 0, False), (4, 3, True)):
        (tmp_path / "begun").unlink(missing_ok=True)
        with hanging(
            *("study", file, "--out", out), cwd=tmp_path, at=at, windows="out/runs/*/windows.jsonl", files=done + 1
        ) as process:
            kill(process, engines_too)
        assert sum(json.loads(path.read_text())["finished"] is not None for path in out.glob("runs/*/run.json")) == done
    continued(file, out, FAKE)
    assert_whole(file, out, points=2)


@pytest.mark.long("kills")
@pytest.mark.parametrize("which", ["fake", "real"])
def test_a_study_killed_four_times_at_any_moment_ends_with_the_same_runs(tmp_path, which):
    engine = FAKE if which == "fake" else find_engine()
    file, out = written(tmp_path, FACTORS, HEAD + LEAN.format(state_repeats=0), SHORT), tmp_path / "out"
    killed_often(file, out, engine, which == "real")
    continued(file, out, engine)
    assert_whole(file, out, POINTS)


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
        if process.poll() is None:  # else it was done before it was looked at
            kill(process, engines_too=bool(time % 2))
        assert all(json.loads(path.read_text()) for path in out.glob("runs/*/run.json"))
    for directory in filter(Path.exists, runtime_directories(out)):
        os.utime(directory, (0, 0))  # who has just started is left alone for a minute


def runtime_directories(out: Path) -> list[Path]:
    """EAL's, of the engines of all runs."""
    records = [json.loads(path.read_text()) for path in out.glob("*/*/run.json")]
    prefixes = [engine["plan"]["eal"]["file_prefix"] for record in records for engine in record["engines"]]
    return [runtime_directory() / "dpdk" / prefix for prefix in prefixes]


class Killed(Exception):
    """As kill -9 would end it: nothing is tidied up."""


class Deadly(Heard):
    """Ends all after so many runs."""

    def run_ended(self, *what):
        super().run_ended(*what)
        if len(self.specs) == 10:
            raise Killed


def test_a_study_killed_while_it_repeats_runs_for_their_state_repeats_no_more_than_it_may(tmp_path, monkeypatch):
    """Of nine runs three missed the state, and three may be repeated: one before the kill, two after it."""
    show_two_levels(monkeypatch, tmp_path)
    file, out = written(tmp_path), tmp_path / "out"
    with on_paper():
        with pytest.raises(Killed):
            finished(file, out, watcher=Deadly(monkeypatch, *["91"] * 6, "425", variable="FAKE_LINE_NS"))
        assert len(runs(out)) == 10
        study = finished(out)
        assert (study.repeated, study.missed, len(study.rows), len(runs(out))) == (3, 3, 9, 12)
        again = finished(out)
    assert (again.repeated, again.missed, again.rows, len(runs(out))) == (3, 3, study.rows, 12)


@pytest.mark.long("kills")
def test_a_study_killed_at_any_moment_of_its_repeats_repeats_no_more_than_it_may(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_LINE_NS", "91,425")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file, out = written(tmp_path, FACTORS, HEAD + LEAN.format(state_repeats=1.0), SHORT), tmp_path / "out"
    first = begun(file, out, FAKE)
    while finished_runs(out) <= 3 * POINTS and first.poll() is None:
        threading.Event().wait(0.005)
    if first.poll() is None:  # else all runs were in one state, or it was done before it was looked at
        kill(first, engines_too=True)
    continued(file, out, FAKE)
    names = runs(out)
    assert len([name for name in names if "-a" not in name]) == 3 * POINTS and len(names) <= 6 * POINTS
    counted = query("select count(*), count(distinct (point, repeat)), count(host_state) from results", [out])
    assert counted.rows == [(3 * POINTS,) * 3]
    continued(file, out, FAKE)
    assert runs(out) == names


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
        with pytest.raises(UserError, match="no results.parquet yet"):
            query("from results", [out])
        assert finished(out, None).rows == study.rows
    assert not list(out.glob(".results*"))
    assert query("select count(*) from results", [out]).rows == [(9,)]
