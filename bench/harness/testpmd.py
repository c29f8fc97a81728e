"""DPDK's own dpdk-testpmd with the EAL, the pool, the port and the burst of one of our plans.

It is driven over its prompt. It counts and clocks the interval between two `show port stats` by itself, so that neither its
start nor our own delays count.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from harness.noise import Steal, pinned_thread, preempted_ns
from harness.sample import Sample, rate
from windtunnel.engine import leftovers
from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError

NAME = "dpdk-testpmd"
PROMPT = b"testpmd> "
START_S = 30.0
WARMUP_S = 0.3


def forward(plan: Plan, device: str, mode: str, seconds: float) -> Sample:
    """Packets a second that one core sends in a forward mode ("macswap": back with their MACs swapped; "flowgen", "txonly":
    of its own) on one port of `device` (driver and arguments).

    Raises UserError when it does not start, or drops a packet.
    """
    with _started(plan, device, mode) as process:
        output = _until_prompt(process)
        _type(process, "start")
        return _sampled(process, plan, output, seconds)


@contextmanager
def _started(plan: Plan, device: str, mode: str) -> Iterator[subprocess.Popen]:
    """testpmd at its prompt, or on its way there; gone at the exit, with all that it leaves behind."""
    process = subprocess.Popen(
        _command(plan, device, mode), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        leftovers.remove(plan)


def _sampled(process: subprocess.Popen, plan: Plan, output: bytes, seconds: float) -> Sample:
    """The interval between two looks at the statistics of a testpmd that forwards. Ends it."""
    cpu = plan.workers[0].cpu
    thread = pinned_thread(process.pid, cpu)
    time.sleep(WARMUP_S)
    with Steal(cpu) as steal:
        before = preempted_ns(process.pid, thread)
        _type(process, "show port stats 0")
        time.sleep(seconds)
        after = preempted_ns(process.pid, thread)
        _type(process, "show port stats 0")
    rest, _ = process.communicate(b"stop\nquit\n", timeout=START_S)
    return _sample((output + rest).decode(errors="replace"), before, after, steal.share)


def _command(plan: Plan, device: str, mode: str) -> list[str]:
    (endpoint,) = plan.endpoints
    pool, port = endpoint.pool, endpoint.port
    if shutil.which(NAME) is None:
        raise UserError(f"no {NAME} on PATH", remedy="Debian, Ubuntu: apt-get install dpdk-dev")
    forwarding = {
        "forward-mode": mode,
        "port-topology": "loop",  # out again by the port that it came from
        "nb-cores": 1,
        "burst": endpoint.batch.nic_rx,
        "mbuf-size": pool.data_room_bytes,
        "total-num-mbufs": max(pool.size, 1024),  # its own least
        "mbcache": pool.cache,
        "rxd": port.rx_descriptors,
        "txd": port.tx_descriptors,
    }
    return [
        NAME,
        *plan.eal.args,
        "--vdev",
        device,
        "--",
        "--interactive",
        *(f"--{name}={value}" for name, value in forwarding.items()),
    ]


def _type(process: subprocess.Popen, command: str) -> None:
    process.stdin.write(command.encode() + b"\n")
    process.stdin.flush()


def _until_prompt(process: subprocess.Popen) -> bytes:
    """What it says while it starts. The prompt is written at once; everything else, to a pipe, in blocks."""
    output = b""
    while not output.endswith(PROMPT):
        chunk = process.stdout.read1()
        if not chunk:
            raise UserError(f"{NAME} did not start: {output.decode(errors='replace').strip()[-800:]}")
        output += chunk
    return output


def _sample(output: str, before: int | None, after: int | None, steal: float | None) -> Sample:
    sent = [int(n) for n in re.findall(r"TX-packets: (\d+) +TX-errors: 0 ", output)]
    no_mbuf = [int(n) for n in re.findall(r"RX-nombuf: +(\d+)", output)]
    per_second = [int(n) for n in re.findall(r"Tx-pps: +(\d+)", output)]
    if len(sent) != 2 or len(per_second) != 2 or any(no_mbuf) or sent[1] <= sent[0]:
        raise UserError(f"{NAME} dropped packets, or its statistics read otherwise: {output[-2000:]}")
    packets = sent[1] - sent[0]
    delay = None if before is None or after is None else after - before
    return rate(packets, packets / per_second[1] * 1e9, delay, steal)
