"""Runs whose sides are on two cabled testbeds, with the real engine: local Ray nodes, between which a memif is the cable."""

import json
import signal
import subprocess
import time

import duckdb
import pytest
from real_runs import assert_sound
from scenario_tools import LENIENT, SHIPPED
from study_tools import COMMAND

pytest.importorskip("ray", reason='Ray is not installed: pip install "windtunnel[fleet]"')
from os import environ

from ray_nodes import LocalCluster

from windtunnel.runs import load
from windtunnel.runs.joined import crossings, on_two_hosts, session

pytestmark = pytest.mark.slow

PATIENCE_S = 300
FILE = SHIPPED / "two-processes.toml"
SHORT = ("duration=500ms", "warmup=100ms", "window=100ms", *LENIENT)
FLEET = """\
address = "{address}"
wait = "2min"
[[cable]]
server = "alpha"
client = "beta"
"""
STUDY = """\
scenario = "{scenario}"
repeats = 2
retries = 0
state_repeats = 0
[set]
{sets}
[[factor]]
key = "client.inflight"
values = [64, 128, 256]
"""


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(dict(environ)) as started:
        started.start("alpha")
        started.start("beta")
        yield started


@pytest.fixture
def lab(cluster, tmp_path):
    file = tmp_path / "lab.toml"
    file.write_text(FLEET.format(address=cluster.address))
    return file


def begun(*words):
    return subprocess.Popen([*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process):
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def sets(*more):
    return [word for each in (*SHORT, *more) for word in ("--set", each)]


def test_a_run_has_its_sides_on_two_testbeds_and_one_directory(lab, tmp_path):
    socket = f"wire.socket={tmp_path / 'wt.sock'}"
    code, said = ended(begun("run", FILE, *sets(socket), "--on", lab, "--out", tmp_path / "out"))
    assert code == 0, said
    [directory] = (tmp_path / "out").iterdir()
    run = load(directory)
    assert_sound(run)
    assert on_two_hosts(run) and len(session(run)) == 32 and run.record.testbed == "alpha+beta"
    assert all(crossing.sent == crossing.received > 100 for crossing in crossings(run))
    assert {file.name for file in directory.iterdir()} >= {"engine-server.log", "engine-client.log", "latency.hlog"}
    code, said = ended(begun("show", directory))
    assert code == 0 and "two hosts: server on" in said and "lost between hosts" in said


def test_a_scenario_that_has_no_second_host_is_refused(lab, tmp_path):
    code, said = ended(begun("run", SHIPPED / "echo.toml", "--on", lab, "--out", tmp_path / "out"))
    assert code == 2 and 'two cabled testbeds: no peer can be at the other end of the wire "ring"' in said
    assert not (tmp_path / "out").exists()


def test_a_pair_that_waits_for_one_testbed_leaves_the_other_free(cluster, lab, tmp_path):
    """They join together or not at all: two commands never wait for what the other one has."""

    def on(testbed):
        file = tmp_path / f"{testbed}.toml"
        file.write_text(f'address = "{cluster.address}"\n[[testbed]]\nname = "{testbed}"\n')
        return file

    long = begun("run", SHIPPED / "echo.toml", *sets("duration=30s"), "--on", on("alpha"), "--out", tmp_path / "long")
    while not (tmp_path / "long").exists():  # made when the testbed has joined
        assert long.poll() is None, long.communicate()[0]
        time.sleep(0.1)
    socket = f"wire.socket={tmp_path / 'wt.sock'}"
    pair = begun("run", FILE, *sets(socket), "--on", lab, "--out", tmp_path / "pair")
    time.sleep(5)  # it has asked by then
    code, said = ended(begun("run", SHIPPED / "echo.toml", *sets(), "--on", on("beta"), "--out", tmp_path / "short"))
    assert code == 0, said
    assert pair.poll() is None and not (tmp_path / "pair").exists(), "it had both testbeds"
    long.send_signal(signal.SIGINT)
    assert ended(long)[0] == 130
    code, said = ended(pair)
    assert code == 0, said


def test_a_study_is_whole_whose_clients_testbed_was_killed(cluster, lab, tmp_path):
    study = tmp_path / "study.toml"
    keys = [key.replace("=", " = ", 1) for key in (*SHORT, f"wire.socket={tmp_path / 'wt.sock'}")]
    study.write_text(STUDY.format(scenario=FILE, sets="\n".join(map(quoted, keys))))
    process = begun("study", study, "--out", tmp_path / "out", "--on", lab)
    wait_for_runs(tmp_path / "out", 2, process)
    cluster.kill("beta")
    cluster.start("beta")
    code, said = ended(process)
    assert code == 0, said
    assert "testbed alpha+beta is lost: beta: " in said and "testbed alpha+beta has joined again" in said
    rows = duckdb.sql(
        f"select point, repeat, inflight from '{tmp_path / 'out' / 'results.parquet'}' where valid order by all"
    ).fetchall()
    assert rows == [(point, repeat, inflight) for point, inflight in ((1, 64), (2, 128), (3, 256)) for repeat in (1, 2)]
    places = {json.loads(file.read_text())["testbed"] for file in (tmp_path / "out").glob("runs/*/run.json")}
    assert places == {"alpha+beta"}


def quoted(line):
    key, value = line.split(" = ")
    plain = value.replace(".", "", 1).isdigit() or value in ("true", "false")
    return f"{key} = {value}" if plain else f'{key} = "{value}"'


def wait_for_runs(out, count, process):
    until = time.monotonic() + PATIENCE_S
    while len(list(out.glob("runs/*/run.json"))) < count:
        assert time.monotonic() < until and process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
