#!/usr/bin/env python3
"""A guest with a RoCE device of software, rxe0, that runs whatever it is told over a shell.

    rdma_guest.py                     the script on stdin runs in a guest, whose device is on an interface without a wire
    rdma_guest.py --two               two guests on one wire; the script runs in both at once, with $1 = 1 and 2

`make -C tests/guest image` makes what it boots.
"""

import argparse
import base64
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import machine

SERVED_ENGINE = Path(__file__).with_name("served_engine")
BOOT_S = 300
"""On a busy host; on a quiet one it is 10 s."""
ALONE = ("dummy0", "10.9.0.1", "10.9.0.2")
LAST_WORDS = b"guest: ended with "


class Said(NamedTuple):
    code: int
    text: str


class RdmaGuest:
    """A running guest. `port`: of 127.0.0.1, where its shell is."""

    def __init__(self, work: Path, port: int):
        self.work, self.port = work, port

    def run(self, script: str, timeout_s: float = 60) -> Said:
        """Runs a script of the guest's shell; its output and errors. Raises TimeoutError."""
        with connect(self.port, script) as connection:
            connection.settimeout(timeout_s)
            said = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        text, _, code = said.rpartition(LAST_WORDS)
        return Said(int(code) if code else 1, text.decode(errors="replace"))

    def well(self, script: str, timeout_s: float = 60) -> str:
        """The output of a script that must succeed."""
        code, text = self.run(script, timeout_s)
        assert code == 0, f"{script}: {text}"
        return text

    def engine(self, before: str = "") -> Path:
        """What stands where the engine stands; `before` is shell that stands in front of the engine's command line."""
        file = self.work / f"engine-{len(list(self.work.glob('engine-*')))}"
        words = [sys.executable, SERVED_ENGINE, "--port", str(self.port), "--before", before]
        file.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
        file.chmod(0o755)
        return file

    @property
    def console(self) -> str:
        return (self.work / "console").read_text(errors="replace")


def connect(port: int, script: str) -> socket.socket:
    """A connection on which the guest runs the script: its input, its output and then LAST_WORDS."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.settimeout(None)
    connection.sendall(base64.b64encode(script.encode()) + b"\n")
    return connection


@contextmanager
def one_guest(work: Path) -> Iterator[RdmaGuest]:
    """A guest whose device has both addresses of ALONE."""
    with booted(work, ALONE, []) as guest:
        wait(guest)
        yield guest


@contextmanager
def two_guests(work: Path) -> Iterator[tuple[RdmaGuest, RdmaGuest]]:
    """Two guests, 10.9.0.1 and 10.9.0.2, with a NIC each on one wire between them."""
    with ExitStack() as stack:
        guests = []
        for number in (1, 2):
            wire = f"stream,id=wire,server={'on' if number == 1 else 'off'},addr.type=unix,addr.path={work / 'wire'}"
            nic = f"virtio-net-pci,netdev=wire,mac=52:54:00:09:00:0{number},addr={machine.FIRST_SLOT + 1}"
            place = work / f"guest{number}"
            place.mkdir(parents=True)
            guests.append(
                stack.enter_context(booted(place, ("eth1", f"10.9.0.{number}"), ["-netdev", wire, "-device", nic]))
            )
            until(lambda: (work / "wire").exists())
        for guest in guests:
            wait(guest)
        yield guests[0], guests[1]


@contextmanager
def booted(work: Path, rdma: tuple[str, ...], nics: list[str]) -> Iterator[RdmaGuest]:
    """`rdma`: the interface below the device, and its addresses."""
    job = {"run": machine.shipped("serve_rdma"), "shell": machine.shipped("shell"), "rdma": " ".join(rdma) + "\n"}
    guest = RdmaGuest(work, free_port())
    shell = f"user,id=shell,restrict=on,hostfwd=tcp:127.0.0.1:{guest.port}-10.0.2.15:1"
    command = machine.command(work, job)
    command += ["-netdev", shell, "-device", f"virtio-net-pci,netdev=shell,addr={machine.FIRST_SLOT}", *nics]
    with (
        (work / "qemu").open("wb") as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as qemu,
    ):
        try:
            yield guest
        finally:
            qemu.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait(guest: RdmaGuest) -> None:
    """Until its shell responds. Raises TimeoutError with what the guest said."""

    def responds() -> bool:
        try:
            return guest.run("rdma link show rxe0/1", timeout_s=5).code == 0
        except OSError:
            return False

    try:
        until(responds)
    except TimeoutError as error:
        raise TimeoutError(f"no shell after {BOOT_S} s: {guest.console} {(guest.work / 'qemu').read_text()}") from error


def until(true) -> None:
    end = time.monotonic() + BOOT_S
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"not after {BOOT_S} s")
        time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--two", action="store_true")
    parser.add_argument("--timeout", type=float, default=600, help="seconds")
    arguments = parser.parse_args()
    script = sys.stdin.read()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        made = two_guests(Path(directory)) if arguments.two else one_guest(Path(directory))
        guests = stack.enter_context(made) if arguments.two else [stack.enter_context(made)]
        ends = [pool.submit(g.run, f"set -- {n}\n{script}", arguments.timeout) for n, g in enumerate(guests, 1)]
        for number, end in enumerate(ends, 1):
            print(f"--- guest {number} ended with {end.result().code}", end.result().text, sep="\n")
        return max(end.result().code for end in ends)


if __name__ == "__main__":
    sys.exit(main())
