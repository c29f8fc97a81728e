"""How much of what a bare loop on the same libfabric provider moves does the engine move? And what does a round trip alone take?

Both ends on one CPU, accounting `counts`, 32 messages in flight, or 1; READ and WRITE with 8 pieces in flight. The bare loop
(`bare_fabric.c`) posts, copies and signals as the engine is asked to, and has no mempool, stages, headers or counting. A single
round trip is shown as round trips a second: 1 / 1.05 of them is 1.05 x the latency. `fi_pingpong` (package libfabric-bin) is beside
single round trips whose ends have a CPU each, as its own have: without a goal, because its ends are processes.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from harness import pingpong
from harness.main import main
from harness.noise import Steal
from harness.results import Result
from harness.sample import Sample, rate
from harness.session import Session, compared
from harness.statistics import Goal

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError

SCENARIO = "rdma.toml"
PORT, PINGPONG_PORT = 20170, 20190
RATE, ALONE = Goal(0.95, "at least"), Goal(1 / 1.05, "at least")
TYPES = {"tcp": "rc", "udp": "ud", "shm": "rdm"}
SIZES = {"tcp": (64, 1024, 8192), "shm": (64, 1024, 8192), "udp": (64, 1024)}
PIECES = (4096, 65536, 1 << 20)


@dataclass(frozen=True)
class Case:
    """One provider, size and operation."""

    provider: str
    size: int
    inflight: int
    operation: str = "send"

    @property
    def name(self) -> str:
        alone = ", alone" if self.inflight == 1 else ""
        return f"{self.provider} {self.operation} {self.size} B{alone}"

    def sets(self, cpu: int) -> dict[str, str]:
        sets = {f"{side}.cores": f"[{cpu}]" for side in ("client", "server")}
        sets |= {"wire.type": TYPES[self.provider], "wire.operation": self.operation}
        sets |= {"client.inflight": str(self.inflight), "client.batch.app_tx": str(min(self.inflight, 32))}
        if self.provider == "udp":
            sets |= {f"{side}.mtu": "1500" for side in ("client", "server")}
        if self.operation == "send":
            return sets | {f"workload.0.{key}": f"{self.size}B" for key in ("request", "response")}
        return sets | {"wire.piece": f"{self.size}B"}


def cases() -> Iterator[Case]:
    for provider, sizes in SIZES.items():
        for size in sizes:
            yield Case(provider, size, 32)
        yield Case(provider, sizes[0], 1)
    for operation in ("read", "write"):
        for size in PIECES:
            yield Case("tcp", size, 8, operation)


def measure(session: Session) -> Iterator[Result]:
    binary = find_engine().parents[1] / "bench" / "bare_fabric"
    if not binary.is_file():
        raise UserError(
            f"no {binary}", remedy="install libfabric-dev; meson configure build -Dbenches=enabled && ninja -C build"
        )
    for case in cases():
        yield _compared(session, str(binary), case)
    yield from _beside_pingpong(session)


def _compared(session: Session, binary: str, case: Case) -> Result:
    rounds = session.in_turns(
        {
            "engine": lambda: session.run(SCENARIO, case.sets(session.cpu)).round_trips_per_s(),
            "bare loop": lambda: _bare(session, binary, case),
        },
        "k round trips/s",
        1e3,
    )
    goal = ALONE if case.inflight == 1 else RATE
    return compared(session, case.name, rounds, "engine", "bare loop", "k/s", 1e3, goal)


def _beside_pingpong(session: Session) -> list[Result]:
    if not pingpong.is_there():
        session.log(f"no {pingpong.NAME}, of the package libfabric-bin: nothing beside it")
        return []
    other = session.other_cpu
    if other is None:
        session.log(f"one CPU: nothing beside {pingpong.NAME}, which wants two")
        return []
    return [_compared_with_pingpong(session, Case(provider, 64, 1), other) for provider in TYPES]


def _compared_with_pingpong(session: Session, case: Case, other: int) -> Result:
    sets = case.sets(session.cpu) | {"server.cores": f"[{other}]"}
    cpus = (session.cpu, other)
    rounds = session.in_turns(
        {
            "engine": lambda: session.run(SCENARIO, sets).round_trips_per_s(),
            pingpong.NAME: lambda: pingpong.round_trips_per_s(
                case.provider, case.size, session.seconds, cpus, PINGPONG_PORT
            ),
        },
        "k round trips/s",
        1e3,
    )
    name = f"{case.name}, a CPU each"
    return compared(session, name, rounds, "engine", pingpong.NAME, "k/s", 1e3)


def _bare(session: Session, binary: str, case: Case) -> Sample:
    words = (case.provider, case.size, case.inflight, session.seconds, session.cpu, case.operation, PORT)
    with Steal(session.cpu) as steal:
        done = subprocess.run([binary, *map(str, words)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"bare_fabric failed: {(done.stderr or done.stdout).strip()}")
    said = json.loads(done.stdout)
    return rate(said["round_trips"], said["ns"], said["preempted_ns"], steal.share)


if __name__ == "__main__":
    main(__doc__, measure)
