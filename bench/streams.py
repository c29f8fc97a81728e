"""What does a TCP stream gain where another core copies its writes, and how near does it come to its bound?

Both ends are ours and on one worker over `ring`, without checksums, and the receiver reads no byte: what is left is TCP and the copy into
the send buffer. Each round asks bench/raw_copies.cc for the two rates of bare copies of that size, and runs the stream with the copies
made by the CPU and by DPDK's software engine, whose thread has the other CPU. With s, the share of copies in the run by the CPU, the bound of
the gain is 1 / max(1 - s, s x CPU rate / engine rate): either the core is rid of its copies, or the engine is busy (Amdahl's law).

Beside the kernel's TCP: writes of 1 MiB from the measured core to a socket in a network namespace, over the veth of
scenarios/stream-to-kernel.sh, which must not be in use. A program on the other CPU reads both streams and looks at no byte. The kernel's
sender has the segmentation offload that veth gives it. Needs root.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from copies import BATCH, DEPTH, GBIT, RAW_MIB, SIZES
from harness.engine_run import EngineRun
from harness.main import main
from harness.noise import Steal
from harness.program import Program
from harness.results import Result
from harness.sample import Sample, rate
from harness.session import Rounds, Session, busy_host, compared
from harness.statistics import Goal, interval, judge

from windtunnel.errors import UserError
from windtunnel.parts.copies.rows import CopyRow
from windtunnel.parts.copies.rows import rows_of as copy_rows

SCENARIO = "../../scenarios/stream.toml"
WRITES = ("4 KiB", "64 KiB", "1 MiB", "2 MiB")
RAW_MS = 200
GAIN = Goal(0.9, "at least", aim=1.0)
SHARE = Goal(1.0, "at most")
"""Percent of the core."""
GOALS_AT = "1 MiB"

TO_KERNEL = "../../scenarios/stream-to-kernel.toml"
VETH = Path(__file__).resolve().parents[1] / "scenarios/stream-to-kernel.sh"
SINK = Path(__file__).with_name("socket_sink.py")
NAMESPACE, INTERFACE = "wt-ping", "wt0"
SINK_AT, KERNEL_AT = ("10.77.0.1", 9000), "10.77.0.3/24"
"""The kernel's own stream leaves from an address beside the engine's, on the same interface."""
WRITE, SOURCE = 1 << 20, 128 << 20
"""Of stream-to-kernel.toml, for the kernel's sender."""


def gains(session: Session) -> list[Result]:
    if session.other_cpu is None:
        session.log("streams: skipped, the software engine needs a second CPU")
        return []
    return [result for write in WRITES for result in _gain(session, write)]


def _bare_rate(session: Session, copier: str, size: str) -> float:
    """Bytes a tick of bare copies. The program ends behind it: an idle software engine still wakes up."""
    lcores = f"0@{session.cpu},1@{session.other_cpu}"
    with Program(session, "raw_copies", [copier, DEPTH, BATCH], RAW_MIB, lcores) as program:
        bare = program.round(SIZES[size], RAW_MS)["bare"]
    return bare["bytes"] / bare["ticks"]


def _gain(session: Session, write: str) -> list[Result]:
    def run(engine: str) -> EngineRun:
        cpu = f"[{session.cpu}]"
        sets = {"workload.0.stream.write": write.replace(" ", ""), "workload.0.copies.engine": engine}
        quiet = {"workload.0.scan": "false", "workload.0.stream.checksum": "false", "window": "100ms"}
        return session.run(SCENARIO, {"client.cores": cpu, "server.cores": cpu} | sets | quiet)

    def take_round() -> dict[str, Sample]:
        cpu_rate, dma_rate = (_bare_rate(session, copier, write) for copier in ("cpu", "dma"))
        by_cpu, by_dma = run("cpu"), run("dma")
        share = _copies(by_cpu).share or 0.0
        bound = 1 / max(1 - share, share * cpu_rate / dma_rate)
        cpu, dma = by_cpu.copied(), by_dma.copied()
        raw = {"share": share, "bound": bound, "dma_by_cpu_rate": dma_rate / cpu_rate}
        most = replace(cpu, value=cpu.value * bound, raw=cpu.raw | raw)
        after = replace(dma, value=_copies(by_dma).share or 0.0)
        return {"cpu": cpu, "dma": dma, "bound": most, "share": after}

    rounds = session.rounds(take_round, "Gbit/s", GBIT)
    held = write == GOALS_AT
    return [
        compared(session, f"dma by cpu, {write}", rounds, "dma", "cpu", "Gbit/s", GBIT),
        compared(session, f"dma by its bound, {write}", rounds, "dma", "bound", "Gbit/s", GBIT, GAIN if held else None),
        _share(session, f"copies' share of the core with dma, {write}", rounds, SHARE if held else None),
    ]


def _share(session: Session, name: str, rounds: Rounds, goal: Goal | None) -> Result:
    samples = rounds.kept["share"]
    spread = interval([sample.value * 100 for sample in samples])
    verdict = judge(spread, goal, busy_host(session, samples)) if goal else None
    return Result(
        name=name,
        memory=session.memory,
        spread=spread,
        unit="%",
        goal=goal,
        verdict=verdict,
        samples={"share": samples},
    )


def beside_kernel(session: Session) -> list[Result]:
    if session.other_cpu is None or os.geteuid() != 0:
        session.log("streams beside the kernel's: skipped, they need a second CPU and root")
        return []
    source = os.urandom(SOURCE)

    def ours() -> Sample:
        return session.run(TO_KERNEL, {"client.cores": f"[{session.cpu}]", "window": "100ms"}).copied()

    with _sink(session.other_cpu):
        contestants = {"stream": ours, "kernel": lambda: _kernel(session, source)}
        rounds = session.in_turns(contestants, "Gbit/s", GBIT)
    return [compared(session, "a stream by the kernel's, over a veth", rounds, "stream", "kernel", "Gbit/s", GBIT)]


@contextmanager
def _sink(cpu: int) -> Iterator[None]:
    """The veth with its namespace, an address for the kernel's sender, and the program that reads what is sent to it."""
    subprocess.run([VETH, "up"], check=True)
    try:
        subprocess.run(["ip", "address", "add", KERNEL_AT, "dev", INTERFACE], check=True)
        command = ["ip", "netns", "exec", NAMESPACE, sys.executable, SINK, str(SINK_AT[1]), str(cpu)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sink:
            try:
                assert sink.stdout is not None
                if not sink.stdout.readline():
                    raise UserError("the sink of the streams does not listen")
                yield
            finally:
                sink.terminate()
    finally:
        subprocess.run([VETH, "down"], check=True)


def _kernel(session: Session, source: bytes) -> Sample:
    """Writes of the kernel's stream, on the measured core."""
    cpus, parts, written = os.sched_getaffinity(0), memoryview(source), 0
    os.sched_setaffinity(0, {session.cpu})
    try:
        with Steal(session.cpu) as steal, socket.create_connection(SINK_AT) as stream:
            began = time.monotonic_ns()
            while (took := time.monotonic_ns() - began) < session.seconds * 1e9:
                at = written % SOURCE
                stream.sendall(parts[at : at + WRITE])
                written += WRITE
        return rate(written, took, None, steal.share)
    finally:
        os.sched_setaffinity(0, cpus)


def _copies(run: EngineRun) -> CopyRow:
    engine = run.engine
    assert engine.hello is not None and engine.result is not None
    (row,) = copy_rows(run.windows, engine.hello, engine.plan, engine.result)
    return row


if __name__ == "__main__":
    main(__doc__, gains, beside_kernel)
