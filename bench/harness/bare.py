"""bench/bare_echo.c with the EAL, the pools, the rings and the sizes of one of our plans."""

import json
import subprocess

from harness.noise import Steal
from harness.sample import Sample, cost
from windtunnel.engine import leftovers
from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Plan
from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES
from windtunnel.errors import UserError

WARMUP_MS = 300


def bare_round_trips(plan: Plan, seconds: float, before: list[str]) -> int:
    """Round trips of a run on one worker behind the command `before`, from its start on. Raises UserError."""
    (worker,) = _run([*before, *_command(plan, seconds, warmup_ms=1)], plan)["workers"]
    return worker["since_start"]


def bare_echo(plan: Plan, seconds: float) -> dict[str, Sample]:
    """By sides ("both", or "server" and "client"): ticks per packet on one worker, per round trip of each side on two.

    Raises UserError when it does not run.
    """
    cpu = plan.workers[0].cpu
    with Steal(cpu) as steal:
        output = _run(_command(plan, seconds, WARMUP_MS), plan)
    return {
        worker["sides"]: cost(
            worker["round_trips"] * (2 if worker["sides"] == "both" else 1),
            worker["ticks"],
            output["tsc_hz"],
            worker["preempted_ns"],
            steal.share,
        )
        for worker in output["workers"]
    }


def _run(command: list[str], plan: Plan) -> dict:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    leftovers.remove(plan)
    if done.returncode != 0:
        raise UserError(f"bare_echo failed: {(done.stderr or done.stdout).strip()}")
    return json.loads(done.stdout)


def _command(plan: Plan, seconds: float, warmup_ms: int) -> list[str]:
    client = next(endpoint for endpoint in plan.endpoints if endpoint.side == "client")
    (workload,) = plan.workloads
    binary = find_engine().parents[1] / "bench" / "bare_echo"
    if not binary.is_file():
        raise UserError(f"no {binary}", remedy="meson configure build -Dbenches=enabled && ninja -C build")
    sizes = {
        "payload": workload.request_bytes,
        "body": workload.request_bytes - MESSAGE_HEADER_BYTES,
        "burst": client.batch.nic_rx,
        "inflight": client.applications[0].inflight,
        "ring": client.ring_size,
        "descriptors": client.port.rx_descriptors,
        "mbufs": client.pool.size,
        "cache": client.pool.cache,
        "data-room": client.pool.data_room_bytes,
        "ops": client.pool.ops,
        "warmup-ms": warmup_ms,
        "measure-ms": round(seconds * 1000),
    }
    options = [part for name, value in sizes.items() for part in (f"--{name}", str(value))]
    return [str(binary), *plan.eal.args, "--", *options]
