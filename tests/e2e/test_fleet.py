"""A fleet of local Ray nodes, with the fake engine: what is lost, who is refused, and what comes back."""

import json
import signal
import socket
import subprocess
import time

import duckdb
import pytest
from fake_runs import FAKE
from study_tools import COMMAND, HEAD, environment, runs, written

pytest.importorskip("ray", reason='Ray is not installed: pip install "windtunnel[fleet]"')
from ray_nodes import LocalCluster

# not "fake_engine": the nodes of a Ray cluster take so much CPU that a real run beside them is disturbed
pytestmark = pytest.mark.slow

PATIENCE_S = 300
FILE = """\
address = "{address}"
wait = "{wait}"
silence = "{silence}"
"""


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(environment()) as started:
        started.start("alpha")
        yield started


def on(directory, address, *testbeds, wait="2min", silence="30s"):
    file = directory / "fleet.toml"
    names = "".join(f'[[testbed]]\nname = "{name}"\n' for name in testbeds)
    file.write_text(FILE.format(address=address, wait=wait, silence=silence) + names)
    return file


def begun(*words, **more):
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


def ended(process):
    out, error = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out + error


def wait_for_runs(out, count):
    """So many have come back."""
    until = time.monotonic() + PATIENCE_S
    while len(list(out.glob("runs/*/run.json"))) < count:
        assert time.monotonic() < until
        time.sleep(0.02)


def table(out):
    columns = "point, repeat, valid, inflight, workload"
    return duckdb.sql(f"select {columns} from '{out / 'results.parquet'}' order by all").fetchall()


def ran_on(out):
    return {json.loads(file.read_text())["testbed"] for file in out.glob("runs/*/run.json")}


def alone(file, out):
    assert ended(begun("study", file, "--out", out))[0] == 0
    return table(out)


def test_a_study_with_a_killed_node_ends_with_the_same_table(cluster, tmp_path):
    """Its raylet alone: the workers live on for seconds, and overlap with those that repeat their runs."""
    file = written(tmp_path, head=HEAD + "repeats = 8\n")
    cluster.start("beta")
    out = tmp_path / "out"
    study = begun("study", file, "--out", out, "--on", on(tmp_path, cluster.client_address, "alpha", "beta"))
    wait_for_runs(out, 6)
    cluster.kill("beta", "raylet/raylet")
    code, said = ended(study)
    assert code == 0, said
    assert "testbed beta is lost" in said
    assert table(out) == alone(file, tmp_path / "alone") and len(runs(out)) == 24
    assert ran_on(out) == {"alpha", "beta"}
    assert not list(out.glob("runs/.*"))


def test_a_study_whose_driver_was_killed_goes_on(cluster, tmp_path):
    file, out = written(tmp_path), tmp_path / "out"
    fleet = on(tmp_path, cluster.address, "alpha")
    study = begun("study", file, "--out", out, "--on", fleet)
    wait_for_runs(out, 2)
    study.kill()
    study.communicate()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("runs/*/run.json")}
    code, said = ended(begun("study", out, "--on", fleet))
    assert code == 0, said
    assert len(runs(out)) == 9 and len(table(out)) == 9
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_silent_node_is_lost(cluster, tmp_path):
    file, out = written(tmp_path, head=HEAD + "repeats = 8\n"), tmp_path / "out"
    cluster.start("silent")
    study = begun("study", file, "--out", out, "--on", on(tmp_path, cluster.address, "alpha", "silent", silence="5s"))
    wait_for_runs(out, 6)
    cluster.signal("silent", signal.SIGSTOP)
    code, said = ended(study)
    cluster.kill("silent")
    assert code == 0, said
    assert "testbed silent is lost: silent for 5 s" in said and len(runs(out)) == 24


def test_a_comparison_takes_one_testbed(cluster, tmp_path):
    written(tmp_path)
    file = tmp_path / "echo.toml"
    words = ["--pairs", 1, "--out", tmp_path / "out", "--on", on(tmp_path, cluster.address, "alpha")]
    code, said = ended(begun("compare", file, file, "--set-b", "client.inflight=64", *words))
    assert code in (0, 3), said  # one pair shows nothing
    assert {json.loads(f.read_text())["testbed"] for f in (tmp_path / "out").glob("[ab]/01/run.json")} == {"alpha"}


def test_repeats_take_one_testbed_and_a_run_alone_is_one(cluster, tmp_path):
    written(tmp_path)
    fleet = on(tmp_path, cluster.address, "alpha")
    for words, names in ((["--repeat", 2], ["01", "02"]), ([], ["01"])):
        out = tmp_path / f"of {len(names)}"
        code, said = ended(begun("run", tmp_path / "echo.toml", *words, "--out", out, "--on", fleet))
        assert code == 0 and f"runs   {out}" in said, said
        kept = {file.parent.name: json.loads(file.read_text())["testbed"] for file in out.glob("*/run.json")}
        assert kept == dict.fromkeys(names, "alpha")
    code, said = ended(begun("run", tmp_path / "echo.toml", "--trace", "--on", fleet))
    assert code == 2 and "--trace has no effect on repeated runs" in said


def test_another_engine_is_refused_before_the_first_run(cluster, tmp_path):
    other = tmp_path / "engine.py"
    other.write_text(FAKE.read_text() + "# another build\n")
    other.chmod(0o755)
    cluster.start("other", WINDTUNNEL_ENGINE=str(other), PYTHONPATH=str(FAKE.parent))
    out = tmp_path / "out"
    code, said = ended(begun("study", written(tmp_path), "--out", out, "--on", on(tmp_path, cluster.address, "other")))
    cluster.kill("other")
    assert code == 2 and "testbed other: engine sha256 is" in said and not out.exists()


def test_a_testbed_that_no_node_has_is_refused(cluster, tmp_path):
    code, said = ended(begun("study", written(tmp_path), "--on", on(tmp_path, cluster.address, "omega")))
    assert code == 2 and "testbed omega: no node of the Ray cluster has it" in said and "alpha" in said


def test_an_address_without_a_cluster_is_refused(tmp_path):
    """Where nothing listens, and where something does that is no Ray."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"127.0.0.1:{server.getsockname()[1]}"
        code, said = ended(begun("study", written(tmp_path), "--on", on(tmp_path, silent, wait="1s")))
        assert code == 2 and f"{silent}: no Ray cluster responds there" in said
    code, said = ended(begun("study", written(tmp_path), "--on", on(tmp_path, f"ray://{silent}", wait="1s")))
    assert code == 2 and "no Ray cluster responds there" in said
