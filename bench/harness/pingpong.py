"""fi_pingpong of the package libfabric-bin: one message to and fro, each end a process on a CPU of its own."""

import subprocess
import time
from itertools import pairwise
from shutil import which

from harness.noise import Steal
from harness.sample import Sample, rate
from windtunnel.errors import UserError

NAME = "fi_pingpong"
TYPES = {"tcp": "msg", "udp": "dgram", "shm": "rdm"}
TRIPS_PER_S = {"tcp": 50_000, "udp": 60_000, "shm": 500_000}
"""About so many: from them follows how many make a sample's length."""
TRIES, PAUSE_S = 30, 0.1
"""Of the client, until the server listens."""


def is_there() -> bool:
    return which(NAME) is not None


def round_trips_per_s(provider: str, size: int, seconds: float, cpus: tuple[int, int], port: int) -> Sample:
    """Round trips a second. `cpus`: of the client, which is the one that is read, and of the server. Raises UserError."""
    trips = max(1000, int(seconds * TRIPS_PER_S[provider]))
    words = [NAME, "-p", provider, "-e", TYPES[provider], "-S", str(size), "-I", str(trips)]
    client, server = (["taskset", "--cpu-list", str(cpu), *words] for cpu in cpus)
    with (
        Steal(cpus[0]) as steal,
        subprocess.Popen([*server, "-B", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as listening,
    ):
        try:
            said = _client([*client, "-P", str(port), "127.0.0.1"])
        finally:
            listening.terminate()
    return rate(trips, trips * 2 * us_of_a_transfer(said) * 1e3, None, steal.share)


def _client(command: list[str]) -> str:
    for _ in range(TRIES):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout
        time.sleep(PAUSE_S)
    raise UserError(f"{NAME} failed: {(done.stderr or done.stdout).strip()}")


def us_of_a_transfer(said: str) -> float:
    """Of its table's only line: a transfer is one way. Raises UserError where there is no such line."""
    lines = [line.split() for line in said.splitlines()]
    for names, values in pairwise(lines):
        if "usec/xfer" in names and len(values) == len(names):
            return float(values[names.index("usec/xfer")])
    raise UserError(f"{NAME} printed no usec/xfer: {said.strip()[:200]!r}")
