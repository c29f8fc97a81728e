"""`windtunnel run --side` in processes of their own, and the words that they exchange, put together byte by byte."""

import os
import signal
import struct
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import forked
from hostile_run import COMMAND
from namespace import Namespace
from scenario_tools import LENIENT

from windtunnel.runs import Run, load
from windtunnel.runs.record import Record
from windtunnel.version import __version__

SHORT = ("duration=200ms", "warmup=50ms", "window=50ms", "drain=100ms", *LENIENT)
ENOUGH = ("messages=5000", "warmup=0s", "duration=1min", "window=1s")
"""Both measure before it ends: in 200 ms, or after a warm-up of its own, perhaps one of them had no CPU."""
HELLO, RESPONSE = 0x13, 0x14
STATE_HELLO, STATE_GO, STATE_DRAIN, STATE_FINISHED = 1, 2, 3, 4
ACCEPTED, OTHER_VERSION, OTHER_PLAN, BUSY = 0, 1, 2, 3
BODY = struct.Struct(">4sHBBB7x16sQQ16s16x")


def hello(
    *,
    from_server: bool = False,
    version: int = 1,
    state: int = STATE_HELLO,
    status: int = ACCEPTED,
    engine: bytes = __version__.encode(),
    client: int = 42,
    server: int = 0,
    plan: bytes = bytes(16),
) -> bytes:
    """UDP payload of a hello between two hosts."""
    head = struct.pack(">BBHIIHH", RESPONSE if from_server else HELLO, 0, 0, 0, 0, 0, 1)
    return head + BODY.pack(b"WtHo", version, from_server, state, status, engine, client, server, plan)


def read_hello(frame: bytes) -> dict[str, int] | None:
    """Of a frame without IP options; None if it is not a hello."""
    if len(frame) < 42 + 16 + BODY.size or frame[12:14] != b"\x08\x00" or frame[42] not in (HELLO, RESPONSE):
        return None
    _, version, from_server, state, status, _, client, server, plan = BODY.unpack_from(frame, 42 + 16)
    return {"version": version, "from_server": from_server, "state": state, "status": status} | {
        "client": client,
        "server": server,
        "plan": plan,
    }


def turned(frame: bytes, payload: bytes) -> bytes:
    """The frame sent back with another payload of the same length. A UDP checksum of 0 is none."""
    ether = frame[6:12] + frame[:6] + frame[12:14]
    ip = frame[14:26] + frame[30:34] + frame[26:30]
    udp = frame[36:38] + frame[34:36] + frame[38:40] + b"\0\0"
    return ether + ip + udp + payload


@dataclass
class Side:
    """One side of a run in a process of its own."""

    out: Path
    process: subprocess.Popen

    def until(self, seen, patience_s: float = 20) -> Record:
        """The record as soon as `seen` is true of it."""
        for _ in range(int(patience_s * 100)):
            if (self.out / "run.json").exists():
                record = Record.model_validate_json((self.out / "run.json").read_text())
                if seen(record):
                    return record
            if self.process.poll() is not None:
                break
            threading.Event().wait(0.01)
        raise AssertionError(f"it never came so far: {self.ended()}")

    def ended(self) -> tuple[int, str]:
        said = self.process.communicate(timeout=60)[0]
        assert "Traceback" not in said, said
        return self.process.returncode, said

    def run(self) -> Run:
        """What is left after an end that is waited for."""
        self.ended()
        return load(self.out)


def start(
    side: str, file: Path, out: Path, *sets: str, host: Namespace | None = None, more: tuple[str, ...] = ()
) -> Side:
    """Runs one side, in a network namespace if one is given, on a CPU of its own where there are two."""
    cpus = sorted(os.sched_getaffinity(0))
    cores = (f"client.cores=[{cpus[0]}]", f"server.cores=[{cpus[-1]}]")
    changes = [text for change in (*SHORT, *cores, *sets) for text in ("--set", change)]
    words = ["run", str(file), "--side", side, "--out", str(out), "--quiet", "--no-report", *more, *changes]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if host:
        return Side(out, subprocess.Popen(["ip", "netns", "exec", host.name, *COMMAND, *words], **pipes))
    return Side(out, forked.Command(words, **pipes))


def meet(sides: Iterable[Side]) -> None:
    """Returns as soon as each has met the other side. If one never does, it is told how all of them ended."""
    sides = list(sides)
    try:
        for side in sides:
            side.until(met)
    except AssertionError as failure:
        for side in sides:
            side.process.send_signal(signal.SIGINT)
        raise AssertionError([side.ended() for side in sides]) from failure


def waits(record: Record) -> bool:
    return any(phase.name.endswith("hello") for phase in record.engines[0].phases)


def met(record: Record) -> bool:
    return record.engines[0].peer is not None
