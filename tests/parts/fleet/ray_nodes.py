"""A Ray cluster on this host, for tests: nodes with a testbed each, and an end for exactly the processes that they started.

`ray stop` ends those of everybody. So each node has a variable of its own in its environment, which all its processes inherit.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Self

VARIABLE = "WINDTUNNEL_LOCAL_NODE"
RAY = Path(sys.executable).with_name("ray")
START_S = 180
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_enable_open_telemetry": "0",
    # a driver over ray:// gets a server of its own, which a busy host does not start within Ray's 30 s
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": f"{START_S}",
}


class LocalCluster:
    """Context manager: no node at first. The first one that starts is the head."""

    def __init__(self, environment: dict[str, str]):
        self._guarded = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(16)}
        self._environment = environment | SETTINGS | self._guarded
        self._token = token_hex(8)
        self.port, self.client_port = _free_ports(2)
        self._nodes: list[str] = []

    def __enter__(self) -> Self:
        self._directory = tempfile.mkdtemp(prefix="wtr-", dir="/tmp")  # sockets have short names
        self._before = {name: os.environ.get(name) for name in self._guarded}
        os.environ.update(self._guarded)  # drivers inherit it
        return self

    def __exit__(self, *_: object) -> None:
        for name, value in self._before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        for name in self._nodes:
            self.kill(name)
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def client_address(self) -> str:
        return f"ray://127.0.0.1:{self.client_port}"

    def start(self, name: str, cpus: Sequence[int] = (), testbeds: Sequence[str] = (), **changed: str) -> None:
        """A node with these testbeds; none: one with its name. `cpus`: all its processes are bound to them; `changed`: in its environment."""
        head = ["--head", "--port", f"{self.port}", "--ray-client-server-port", f"{self.client_port}"]
        head += ["--temp-dir", self._directory, "--include-dashboard=false"]
        words = [str(RAY), "start", *(["--address", self.address] if self._nodes else head)]
        words += ["--node-ip-address", "127.0.0.1", "--num-cpus", "1", "--object-store-memory", f"{100 << 20}"]
        resources = {f"testbed:{testbed}": 1 for testbed in testbeds or (name,)}
        words += ["--disable-usage-stats", "--resources", json.dumps(resources)]
        if cpus:
            words = ["taskset", "-c", ",".join(map(str, cpus)), *words]
        self._nodes.append(name)
        own = {VARIABLE: f"{self._token}-{name}"}
        done = subprocess.run(
            words, env=self._environment | changed | own, capture_output=True, text=True, timeout=START_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def kill(self, name: str, only: str = "") -> None:
        """kill -9 of all processes of a node, or of those with this in their command line, as in "raylet/raylet"."""
        self.signal(name, signal.SIGKILL, only)

    def signal(self, name: str, number: signal.Signals, only: str = "") -> None:
        for pid in self.pids(name, only):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def log_ends(self, pattern: str = "ray_client_server*", lines: int = 15) -> str:
        """The last lines of each log file of this name that is not empty."""
        logs = sorted(Path(self._directory).glob(f"session_latest/logs/{pattern}"))
        texts = {log.name: log.read_text(errors="replace").splitlines()[-lines:] for log in logs}
        return "\n".join("\n".join([f"--- {name}", *text]) for name, text in texts.items() if text)

    def pids(self, name: str, only: str = "") -> list[int]:
        """Of a node."""
        own = f"{VARIABLE}={self._token}-{name}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    environment = (entry / "environ").read_bytes().split(b"\0")
                    if own in environment and only.encode() in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
