"""A daemon as a process of its own, with a slicer that only pins: what is tested is the daemon."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sharing_tools import until

from windtunnel.errors import UserError
from windtunnel.sharing.daemon.client import Client

CODE = """
import sys
from pathlib import Path
from pool_tools import Turns
from windtunnel.views.terminal.messages import show_error
from windtunnel.errors import UserError
from windtunnel.sharing.daemon.keys import read
from windtunnel.sharing.daemon.core import Chosen
from windtunnel.sharing.daemon.serve import Daemon
file = Path(sys.argv[1])
try:
    with Daemon(read(file), file.parent, lambda keys, cpus, say: Chosen(Turns, 100_000), lambda line: print(line, flush=True)) as daemon:
        print("ready", flush=True)
        daemon.run()
except UserError as error:
    show_error(error)
    sys.exit(2)
"""
CPUS = sorted(os.sched_getaffinity(0))


def write(directory: Path, tenants: str, head: str = "") -> Path:
    """A file with state of its own. `tenants` and `head` are TOML."""
    file = directory / "share.toml"
    file.write_text(f'state = "state"\ncheck = "20ms"\n{head}\n{tenants}')
    return file


def tenant_toml(name: str, pid: int, **keys: object) -> str:
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in keys.items()]
    return "\n".join(["[[tenant]]", f'name = "{name}"', f"pid = {pid}", *lines, ""])


def start(file: Path, *prefix: str) -> subprocess.Popen:
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", CODE, file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


class Running:
    def __init__(self, process: subprocess.Popen, socket_path: Path):
        self.process, self.socket = process, socket_path

    def client(self) -> Client:
        return Client(self.socket)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def daemon(file: Path, socket: Path | None = None) -> Iterator[Running]:
    """It answers when this is entered; it is ended at the end, and must end well. `socket`: where the file says."""
    process = start(file)
    running = Running(process, socket or file.parent / "state" / "share.sock")
    try:
        line = process.stdout.readline()
        assert line == "ready\n", line + process.stderr.read()
        until(lambda: _responses(running))
        yield running
        if process.poll() is None:
            process.terminate()
            assert process.wait(60) == 0, process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def _responses(running: Running) -> bool:
    try:
        with running.client() as client:
            return client.get("/v1/tenants") is not None
    except UserError:
        return False
