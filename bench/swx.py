"""What does the handler `swx` cost, compared with the same pipeline in a bare loop?

The shipped exact pipeline (a key of 16 bytes) on one core and one net_pcap port with infinite_rx=1 that replays 64 UDP frames of 128
bytes of one flow, the same pool, descriptors and burst; accounting `counts`: all ticks of the worker by packets. The reference is
bench/bare_swx.c: rte_swx_pipeline_run on DPDK's own ethdev ports, the generated C compiled alike, without the guards of the handler.
"""

import json
import subprocess

from harness.capture import write_udp_capture
from harness.engine_run import SCENARIOS
from harness.main import main
from harness.noise import Steal
from harness.results import Result
from harness.sample import Sample, cost
from harness.session import Session, compared
from harness.statistics import Goal

from windtunnel.engine import leftovers
from windtunnel.engine.find import CHECKOUT, find_engine
from windtunnel.engine.plan import Plan
from windtunnel.errors import UserError

SCENARIO = "swx-exact.toml"
SPEC = CHECKOUT / "scenarios" / "swx-exact.spec"
FRAMES, PAYLOAD_BYTES, WARMUP_MS = 64, 86, 300
TABLES_MIB = 1024
"""Room for the bare loop's tables, where EAL has no hugepages to take more of; ours have a heap of their own."""
GOAL = Goal(1.1, "at most", aim=1.0)


def measure(session: Session) -> list[Result]:
    capture = session.directory / "frames.pcap"
    write_udp_capture(capture, FRAMES, PAYLOAD_BYTES)
    sets = {"wire.replay": str(capture), "server.cores": f"[{session.cpu}]"}
    plan = session.plan(SCENARIO, sets)
    pipeline = _compiled(session)
    device = f"net_pcap0,infinite_rx=1,rx_pcap={capture}"
    rounds = session.in_turns(
        {
            "swx": lambda: session.run(SCENARIO, sets).ticks_per_packet(),
            "bare_swx": lambda: _bare(session, plan, pipeline, device),
        },
        "ticks/packet",
    )
    return [compared(session, "swx, exact 4x4", rounds, "swx", "bare_swx", "ticks/packet", goal=GOAL)]


def _binary() -> str:
    binary = find_engine().parents[1] / "bench" / "bare_swx"
    if not binary.is_file():
        raise UserError(f"no {binary}", remedy="meson configure build -Dbenches=enabled && ninja -C build")
    return str(binary)


def _output(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise UserError(f"{command[0]} failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _compiled(session: Session) -> str:
    """The pipeline as a shared object, from DPDK's generated C alone."""
    code, shared = session.directory / "bare.c", session.directory / "bare.so"
    _output(_binary(), "--codegen", str(SPEC), str(code))
    headers = CHECKOUT / ".dpdk" / _output("pkg-config", "--modversion", "libdpdk").strip()
    flags = _output("pkg-config", "--cflags", "libdpdk").split()
    alike = ["-std=gnu11", "-O3", "-fPIC", "-shared", "-w", "-DALLOW_EXPERIMENTAL_API"]
    _output("gcc", *alike, *flags, f"-I{headers}", "-o", str(shared), str(code))
    return str(shared)


def _bare(session: Session, plan: Plan, pipeline: str, device: str) -> Sample:
    endpoint = plan.endpoints[0]
    sizes = (endpoint.pool.size, endpoint.pool.cache, endpoint.port.rx_descriptors, endpoint.batch.nic_rx)
    eal = [*_without(plan.eal.args, "--lcores", "--main-lcore", "-m"), "-l", str(session.cpu), "--vdev", device]
    if plan.eal.memory == "no-huge":
        eal += ["-m", str(TABLES_MIB)]
    entries = str(SCENARIOS / "swx-exact.entries")
    words = [pipeline, "flows", entries, *sizes, WARMUP_MS, round(session.seconds * 1000)]
    with Steal(session.cpu) as steal:
        output = json.loads(_output(_binary(), *eal, "--", *map(str, words)))
    leftovers.remove(plan)
    return cost(output["packets"], output["ticks"], output["tsc_hz"], output["preempted_ns"], steal.share)


def _without(args: list[str], *options: str) -> list[str]:
    """The EAL's arguments without some that take a value."""
    pairs = zip(args, ["", *args], strict=False)
    return [word for word, before in pairs if word not in options and before not in options]


if __name__ == "__main__":
    main(__doc__, measure)
