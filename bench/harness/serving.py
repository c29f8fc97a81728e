"""A daemon that shares CPUs out, with a connection of PvCC's protocol and a client of its API."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.engine_run import COMMAND
from windtunnel.errors import UserError
from windtunnel_sharing.daemon.client import Client

PATIENCE_S = 30.0


@contextmanager
def serving(
    directory: Path, tenants: str, be_cpus: int, slice_: str = "100us"
) -> Iterator[tuple[int, socket.socket, Client]]:
    """The daemon's pid, the connection and the client. It shares the first and the last CPU out, with the kicker; `tenants` is TOML.
    `directory` must be there. Within it this process runs on CPUs that `be` always has, if it has any. Raises UserError."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise UserError("this bench needs two CPUs")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = (
        f'state = "state"\ncpus = {[cpus[0], cpus[-1]]}\nbe_cpus = {be_cpus}\nslicer = "kicker"\nslice = "{slice_}"\n'
    )
    file = directory / "share.toml"
    file.write_text(f'{head}[pvcc]\nlisten = "127.0.0.1:{port}"\n{tenants}')
    process = subprocess.Popen([COMMAND, "share", "serve", "--from-anywhere", file], stdout=subprocess.DEVNULL)
    try:
        with _connected(port) as text, Client(directory / "state" / "share.sock") as client:
            # On a CPU of ls the client would wait for milliseconds behind the shield.
            os.sched_setaffinity(0, set(cpus[:1] if be_cpus else cpus))
            yield process.pid, text, client
    finally:
        os.sched_setaffinity(0, cpus)
        process.terminate()
        process.wait()


def _connected(port: int) -> socket.socket:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        except OSError as error:
            if time.monotonic() > deadline:
                raise UserError(f"the daemon does not respond: {error}") from None
            time.sleep(0.05)


def set_weights(text: socket.socket, lines: list[str]) -> None:
    send(text, lines)
    expect_ok(text, len(lines))


def send(text: socket.socket, lines: list[str]) -> None:
    text.sendall("".join(f"{line}\n" for line in lines).encode())


def expect_ok(text: socket.socket, count: int) -> None:
    """Each must get OK as its response. Raises UserError."""
    output = b""
    while output.count(b"\n") < count:
        output += text.recv(1 << 16)
    if set(output.split()) != {b"OK"}:
        raise UserError(f"the daemon refused: {output[:200]!r}")
