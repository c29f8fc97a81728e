"""Fleets of local Ray nodes: what comes back from them, who is refused, and, in the long tier, what becomes of nodes that are lost."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
import pytest
from command_line import environment
from fake_runs import FAKE
from real_runs import assert_sound
from scenario_tools import LENIENT, SHIPPED
from study_tools import COMMAND, HEAD, runs, written

pytest.importorskip("ray", reason="Ray is not installed: ./test installs it")
import fleet_driver
from ray_nodes import LocalCluster

from windtunnel.engine.find import find_engine
from windtunnel.parts.fleet import connection
from windtunnel.runs import load
from windtunnel.runs.joined import crossings, on_two_hosts, session

pytestmark = pytest.mark.slow

PATIENCE_S = 300
PAIR = SHIPPED / "two-processes.toml"
SHORT = ("duration=500ms", "warmup=100ms", "window=100ms", *LENIENT)
SETS = [word for change in SHORT for word in ("--set", change)]
COLUMNS = "point, repeat, valid, inflight, workload"


@pytest.fixture(scope="module")
def cluster():
    """A node with two testbeds of the fake engine."""
    with LocalCluster(environment("run")) as started:
        started.start("fake", testbeds=("alpha", "beta"))
        yield started


@pytest.fixture(scope="module")
def real_testbeds(cluster) -> tuple[str, str]:
    """Of another node, with the real engine."""
    names = ("near", "far")
    cluster.start("real", testbeds=names, WINDTUNNEL_ENGINE=str(find_engine()))
    return names


@pytest.fixture(autouse=True)
def ray_logs(cluster) -> Iterator[None]:
    """pytest shows them with a test that failed."""
    yield
    print(cluster.log_ends())


@pytest.fixture(scope="module")
def drive() -> Iterator:
    """Runs a command to its end, in a process that the tests share."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:

        def run(*words, binary: Path = FAKE) -> tuple[int, str]:
            return pool.submit(fleet_driver.command, str(binary), *map(str, words)).result(PATIENCE_S)

        run.pool = pool
        yield run


def fleet_file(directory: Path, address: str, *testbeds: str, cable: bool = False, silence: str = "30s") -> Path:
    file = directory / "fleet.toml"
    names = [f'[[testbed]]\nname = "{name}"\n' for name in testbeds]
    if cable:
        server, client = testbeds
        names = [f'[[cable]]\nserver = "{server}"\nclient = "{client}"\n']
    file.write_text(f'address = "{address}"\nwait = "2min"\nsilence = "{silence}"\n' + "".join(names))
    return file


def places_of(files) -> set[str]:
    return {json.loads(file.read_text())["testbed"] for file in files}


def table(out: Path) -> list[tuple]:
    return duckdb.sql(f"select {COLUMNS} from '{out / 'results.parquet'}' order by all").fetchall()


@pytest.fixture(scope="module")
def table_of_one_host(drive, tmp_path_factory) -> list[tuple]:
    directory = tmp_path_factory.mktemp("one-host")
    code, output = drive("study", written(directory), "--out", directory / "out")
    assert code == 0, output
    return table(directory / "out")


def test_each_port_of_a_cluster_with_a_token_asks_for_it(cluster):
    for address in (cluster.address, cluster.client_address):
        connection.check_guarded(address)


def test_a_study_on_two_testbeds_has_the_table_of_one_host(cluster, drive, table_of_one_host, tmp_path):
    out, fleet = tmp_path / "out", fleet_file(tmp_path, cluster.address, "alpha", "beta")
    code, said = drive("study", written(tmp_path), "--out", out, "--on", fleet)
    assert code == 0, said
    assert table(out) == table_of_one_host and len(runs(out)) == 9
    assert places_of(out.glob("runs/*/run.json")) == {"alpha", "beta"}
    assert not list(out.glob("runs/.*"))


def test_a_comparison_takes_one_testbed(cluster, drive, tmp_path):
    written(tmp_path)
    file, out = tmp_path / "echo.toml", tmp_path / "out"
    fleet = fleet_file(tmp_path, cluster.address, "alpha", "beta")
    words = ["--set-b", "client.inflight=64", "--pairs", 1, "--out", out]
    code, said = drive("compare", file, file, *words, "--on", fleet)
    assert code in (0, 3), said  # one pair shows nothing
    assert len(places_of(out.glob("[ab]/01/run.json"))) == 1


def test_repeats_take_one_testbed_and_a_run_alone_is_one(cluster, drive, tmp_path):
    written(tmp_path)
    file, fleet = tmp_path / "echo.toml", fleet_file(tmp_path, cluster.address, "alpha")
    for words, names in ((["--repeat", 2], ["01", "02"]), ([], ["01"])):
        out = tmp_path / f"of {len(names)}"
        code, said = drive("run", file, *words, "--out", out, "--on", fleet)
        assert code == 0 and str(out) in said, said
        kept = {file.parent.name: json.loads(file.read_text())["testbed"] for file in out.glob("*/run.json")}
        assert kept == dict.fromkeys(names, "alpha")
    code, said = drive("run", file, "--trace", "--on", fleet)
    assert code == 2 and "--trace has no effect on repeated runs" in said


def test_another_engine_is_refused_before_the_first_run(cluster, drive, tmp_path):
    other, out = tmp_path / "engine.py", tmp_path / "out"
    other.write_text(f'#!/bin/sh\nexec {FAKE} "$@"\n')
    other.chmod(0o755)
    fleet = fleet_file(tmp_path, cluster.address, "alpha")
    code, said = drive("study", written(tmp_path), "--out", out, "--on", fleet, binary=other)
    assert code == 2 and "testbed alpha: engine sha256 is" in said and not out.exists()


def test_a_testbed_that_no_node_has_is_refused(cluster, drive, tmp_path):
    code, said = drive("study", written(tmp_path), "--on", fleet_file(tmp_path, cluster.address, "omega"))
    assert code == 2 and "testbed omega: no node of the Ray cluster has it" in said and "alpha" in said


def test_a_run_has_its_sides_on_two_testbeds_and_one_directory(cluster, real_testbeds, drive, tmp_path):
    lab = fleet_file(tmp_path, cluster.address, *real_testbeds, cable=True)
    words = [*SETS, "--set", f"wire.socket={tmp_path / 'wt.sock'}", "--on", lab]
    code, said = drive("run", PAIR, *words, "--out", tmp_path / "out", binary=find_engine())
    assert code == 0, said
    [directory] = (tmp_path / "out").iterdir()
    run = load(directory)
    assert_sound(run)
    assert on_two_hosts(run) and len(session(run)) == 32 and run.record.testbed == "near+far"
    assert all(crossing.sent == crossing.received > 100 for crossing in crossings(run))
    assert {file.name for file in directory.iterdir()} >= {"engine-server.log", "engine-client.log", "latency.hlog"}
    code, said = drive("show", directory)
    assert code == 0 and "two hosts: server on" in said and "lost between hosts" in said
    code, said = drive("run", SHIPPED / "echo.toml", "--on", lab, "--out", tmp_path / "none", binary=find_engine())
    assert code == 2 and 'two cabled testbeds: no peer can be at the other end of the wire "ring"' in said
    assert not (tmp_path / "none").exists()


def test_a_pair_that_waits_for_one_testbed_leaves_the_other_free(cluster, drive):
    """They join together or not at all: two commands never wait for what the other one has."""
    pair = fleet_driver.pair_beside_a_single_testbed
    drive.pool.submit(pair, cluster.address, "alpha", "beta").result(PATIENCE_S)


class Command:
    """A command in a process of its own, which a test may outlive."""

    def __init__(self, *words, binary: Path = FAKE):
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, words)],
            env=environment("run") | {"WINDTUNNEL_ENGINE": str(binary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_for_runs(self, out: Path, count: int) -> None:
        """So many have come back."""
        until = time.monotonic() + PATIENCE_S
        while len(list(out.glob("runs/*/run.json"))) < count:
            assert time.monotonic() < until and self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.02)

    def ended(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


@pytest.mark.long("kills")
def test_a_study_with_a_killed_node_ends_with_the_same_table(cluster, drive, tmp_path):
    """Its raylet alone: the workers live on for seconds, and overlap with those that repeat their runs."""
    file, out, alone = written(tmp_path, head=HEAD + "repeats = 8\n"), tmp_path / "out", tmp_path / "alone"
    cluster.start("killed")
    fleet = fleet_file(tmp_path, cluster.client_address, "alpha", "killed")
    study = Command("study", file, "--out", out, "--on", fleet)
    study.wait_for_runs(out, 6)
    cluster.kill("killed", "raylet/raylet")
    code, said = study.ended()
    assert code == 0, said
    assert "testbed killed is lost" in said
    assert drive("study", file, "--out", alone)[0] == 0
    assert table(out) == table(alone) and len(runs(out)) == 24
    assert places_of(out.glob("runs/*/run.json")) == {"alpha", "killed"}
    assert not list(out.glob("runs/.*"))


@pytest.mark.long("kills")
def test_a_study_whose_driver_was_killed_goes_on(cluster, drive, tmp_path):
    file, out, fleet = written(tmp_path), tmp_path / "out", fleet_file(tmp_path, cluster.address, "alpha")
    study = Command("study", file, "--out", out, "--on", fleet)
    study.wait_for_runs(out, 2)
    study.process.kill()
    study.ended()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/run.json")}
    code, said = drive("study", out, "--on", fleet)
    assert code == 0, said
    assert len(runs(out)) == 9 and len(table(out)) == 9
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.long("kills")
def test_a_silent_node_is_lost(cluster, tmp_path):
    file, out = written(tmp_path, head=HEAD + "repeats = 8\n"), tmp_path / "out"
    cluster.start("silent")
    fleet = fleet_file(tmp_path, cluster.address, "alpha", "silent", silence="5s")
    study = Command("study", file, "--out", out, "--on", fleet)
    study.wait_for_runs(out, 6)
    cluster.signal("silent", signal.SIGSTOP)
    code, said = study.ended()
    cluster.kill("silent")
    assert code == 0, said
    assert "testbed silent is lost: silent for 5 s" in said and len(runs(out)) == 24


@pytest.mark.long("kills")
def test_a_study_is_whole_whose_clients_testbed_was_killed(cluster, real_testbeds, tmp_path):
    socket, binary = tmp_path / "wt.sock", str(find_engine())
    cluster.start("remote", WINDTUNNEL_ENGINE=binary)
    head = f'scenario = "{PAIR}"\nrepeats = 2\nretries = 0\nstate_repeats = 0\n[set]\n'
    sets = [change.split("=") for change in (*SHORT, f"wire.socket={socket}")]
    keys = "".join(
        f"{key} = {value if value.replace('.', '').isdigit() else json.dumps(value)}\n" for key, value in sets
    )
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(head + keys + '[[factor]]\nkey = "client.inflight"\nvalues = [64, 128, 256]\n')
    near, _ = real_testbeds
    lab = fleet_file(tmp_path, cluster.address, near, "remote", cable=True)
    study = Command("study", file, "--out", out, "--on", lab, binary=binary)
    study.wait_for_runs(out, 2)
    cluster.kill("remote")
    cluster.start("remote", WINDTUNNEL_ENGINE=binary)
    code, said = study.ended()
    assert code == 0, said
    assert "testbed near+remote is lost: remote: " in said and "testbed near+remote has joined again" in said
    assert [row[:4] for row in table(out)] == [
        (point, repeat, True, inflight) for point, inflight in ((1, 64), (2, 128), (3, 256)) for repeat in (1, 2)
    ]
    assert places_of(out.glob("runs/*/run.json")) == {"near+remote"}
