"""DPDK's telemetry answers while a run runs, with the numbers of its windows, and nothing of it stays behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from real_runs import assert_sound, execute

from windtunnel.engine.telemetry import LONGEST_PATH, how_to_ask, socket_path
from windtunnel.scenario import here, load, resolve

ECHO = {
    "duration": "60s",
    "warmup": "0s",
    "window": "100ms",
    "client": {"rate": "200kpps"},
    "workload": [{"name": "small-rpc.1", "handler": "l_app"}],
}
INTERRUPTED = ["stopped before the end: interrupted by the user"]
QUESTION = "/windtunnel/ports\nquit\n"
TABLES = ("stages", "workloads", "ports", "workers", "rings", "pools")


class Client:
    """Speaks to an engine as dpdk-telemetry.py does: a sequenced packet a question, one JSON object an answer."""

    def __init__(self, path: Path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(10)
        self._socket.connect(str(path))
        self.info = json.loads(self._socket.recv(1024))

    def ask(self, command: str):
        self._socket.send(command.encode())
        return json.loads(self._socket.recv(self.info["max_output_len"]))[command.partition(",")[0]]

    def wait_for_window(self, index: int) -> dict:
        """The run's row once so many windows are closed."""
        while (run := self.ask("/windtunnel/run")).get("window", -1) < index:
            time.sleep(0.01)
        return run

    def wait_for_tables(self) -> dict[str, dict]:
        """Those of a window in which calls of a stage were timed: on a busy host there are others."""
        while True:
            tables = {table: self.ask(f"/windtunnel/{table}") for table in TABLES}
            if "work_ns" in tables["stages"]["client/app_tx/0"]:
                return tables
            time.sleep(0.01)


def asking(function, ends: bool = True):
    """Of a run: the change that learns its first socket, and a function beside it that asks there and then ends it."""
    sockets: list[Path] = []

    def learn(spec):
        sockets.append(socket_path(spec.plans[0].eal.file_prefix))
        return spec.plans

    def beside():
        try:
            return function(sockets[0])
        finally:
            if ends:
                os.kill(os.getpid(), signal.SIGINT)

    return {"change": learn, "beside": beside}


def ask_everything(path: Path) -> SimpleNamespace:
    client = Client(path)
    before = client.wait_for_window(1)
    early = client.ask("/windtunnel/stages")
    script = shutil.which("dpdk-telemetry.py")
    command = [script, "-f", path.parent.name]
    return SimpleNamespace(
        commands=client.ask("/"),
        early=early,
        run=client.wait_for_window(before["window"] + 2),
        part=client.ask("/windtunnel/stages,client/nic"),
        script=script and subprocess.run(command, input=QUESTION, capture_output=True, text=True, check=True),
        **client.wait_for_tables(),
    )


def test_telemetry_replies_during_a_run(tmp_path):
    sockets: list[Path] = []

    def ask(path: Path) -> SimpleNamespace:
        sockets.append(path)
        return ask_everything(path)

    finished = execute(tmp_path, ECHO, **asking(ask))
    assert finished.run.record.verdict.reasons == INTERRUPTED
    shown, windows = finished.beside, finished.run.windows["windtunnel"]
    assert {"/windtunnel/run", *(f"/windtunnel/{table}" for table in TABLES)} <= set(shown.commands)
    assert shown.run["title"] == "test" and shown.run["phase"] == "measure"
    assert shown.run["window_end_ns"] == windows[shown.run["window"]].end_ns

    assert set(shown.stages) == set(shown.early) == {f"{s.endpoint}/{s.stage}/{s.index}" for s in windows[0].stages}
    assert set(shown.part) == {"client/nic_rx/0", "client/nic_tx/0"}
    for name, stage in shown.stages.items():
        totals = moved_after_each(windows, name)
        assert stage["total_objects"] in totals and shown.early[name]["total_objects"] in totals
        assert stage["total_objects"] >= shown.early[name]["total_objects"]
    assert float(shown.stages["client/app_tx/0"]["work_ns"]) > 0
    [(name, workload)] = shown.workloads.items()
    assert name == "small_rpc_1" and workload["total_sent"] >= workload["total_responses"] > 0
    assert workload["p50_ns"] <= workload["p99_ns"] <= workload["max_ns"]
    assert workload["pacing_p50_ns"] <= workload["pacing_p99_ns"] <= workload["pacing_max_ns"]
    assert set(shown.ports) == set(shown.pools) == {"client", "server"}
    assert len(shown.workers) == len(finished.run.record.engines[0].plan.workers)
    if shown.script:
        assert json.loads(shown.script.stdout.splitlines()[0]).keys() == {"/windtunnel/ports"}
    assert not sockets[0].parent.exists()


def moved_after_each(windows, name: str) -> set[int]:
    """What a stage had moved after each of the windows."""
    endpoint, stage, index = name.split("/")
    total, sums = 0, set()
    for window in windows:
        total += sum(
            s.objects for s in window.stages if (s.endpoint, s.stage, str(s.index)) == (endpoint, stage, index)
        )
        sums.add(total)
    return sums


def test_telemetry_truncates_many_stages_and_says_so(tmp_path):
    def ask(path: Path) -> tuple[dict, dict]:
        client = Client(path)
        client.wait_for_window(1)
        return client.ask("/windtunnel/stages"), client.ask("/windtunnel/stages,server/disp")

    many = ECHO | {"workload": [{"handler": "l_app", "apps": 8, "dispatchers": 4}]}
    shown, part = execute(tmp_path, many, **asking(ask)).beside
    assert shown.pop("left_out") + len(shown) == 2 * 4 * 4 + 8 * 3
    assert len(part) == 8


def test_a_connected_telemetry_client_does_not_delay_the_end(tmp_path):
    def ask_on(client: Client) -> None:
        with suppress(OSError, ValueError):  # until the engine has gone
            while True:
                client.ask("/windtunnel/stages")

    def ask(path: Path) -> threading.Thread:
        client = Client(path)
        client.wait_for_window(0)
        asks = threading.Thread(target=ask_on, args=[client])
        asks.start()
        return asks

    finished = execute(tmp_path, ECHO | {"duration": "300ms"}, **asking(ask, ends=False))
    assert_sound(finished.run)
    finished.beside.join(10)
    assert not finished.beside.is_alive()


@pytest.mark.parametrize(("spare", "telemetry"), [(0, True), (-1, False)])
def test_a_runtime_directory_with_too_long_a_path_runs_without(tmp_path, monkeypatch, spare, telemetry):
    file = tmp_path / "echo.toml"
    file.write_text('[[workload]]\nhandler = "l_app"\n')
    below = len("/dpdk/wt-01234567/dpdk_telemetry.v2")
    directory = "/tmp/" + "x" * (LONGEST_PATH - below - len("/tmp/") - spare)
    monkeypatch.setenv("RUNTIME_DIRECTORY", directory)
    plan = resolve(load(file), here()).plans[0]
    assert ("--no-telemetry" not in plan.eal.args) is telemetry
    assert ("dpdk-telemetry.py -f wt-" in how_to_ask(plan)) is telemetry
