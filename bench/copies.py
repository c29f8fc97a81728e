"""What do copies through the engine's copiers cost, compared with the library's own calls, and which way of unpacking is the fastest?

Raw: copies of 256 bytes to 2 MiB from 128 MiB to 128 MiB, depth 64, batches of 32. bench/raw_copies.cc holds both contestants in one
process and gives them turns of milliseconds on the same device: `cpu` beside rte_memcpy, `dma` beside rte_dma_* on DPDK's software
engine, whose thread has the other CPU. It first compares all bytes of a round.

Unpacking: requests of 256 KiB are cut into packets on one worker, as in studies/copy-unpack.toml; `pipelined` beside `wait_all` with the
software engine over `ring`, `zero` beside copies by the CPU over `memif`, where each side has a core of its own.

Modelled: the copier `model` beside `cpu`, on one worker. First it is fed with this host's CPU: what a copy of five sizes costs is the
time of a packet with `cpu` less that with an engine that costs nothing; at three sizes between them `model` must be as fast as `cpu`.
Then it is fed with the published figures of Intel DSA, for the gains of the guide that Windtunnel's copies come from (mTCP on a 4th Gen
Xeon, one DSA device): +80% by unpacking into packets of 4096 B, +60% end to end by asynchronous copies at sends of 1 MB.
"""

from collections.abc import Mapping
from pathlib import Path
from statistics import median

from harness.main import main
from harness.noise import Steal
from harness.program import Program
from harness.results import Result
from harness.sample import Sample, rate
from harness.session import Rounds, Session, compared
from harness.statistics import Goal

from windtunnel.parts.copies.measured_profiles import profile_text, write_profile

SIZES = {
    "256 B": 256,
    "1 KiB": 1 << 10,
    "4 KiB": 4 << 10,
    "16 KiB": 16 << 10,
    "64 KiB": 64 << 10,
    "256 KiB": 256 << 10,
    "1 MiB": 1 << 20,
    "2 MiB": 2 << 20,
}
DEPTH, BATCH = 64, 32
RAW_MIB = 512
"""Source, destination, and what EAL wants."""
RAW = Goal(0.95, "at least", aim=1.0)

PAYLOADS = (64, 128, 256, 512, 1024, 1460, 4096, 8192)
HEADERS = 44
"""IPv4, UDP and message header: an MTU is that much above a packet's payload."""
SCENARIO = "../../scenarios/copy-dma.toml"
UNPACKING = {"window": "100ms", "client.inflight": "8", "client.batch.app_tx": "8", "workload.0.request": "256KiB"}
NOT_BELOW = Goal(1.0, "at least")
CURVE, HELD_OUT, UNALIGNED = (512, 768, 1536, 2048, 8192), (1024, 3072, 4096), (1460,)
"""A curve is of the size alone: where bytes lie to a cache line is not in it."""
NEAR = Goal(5, "at most")
TIMED = {"accounting.level": "cycles", "accounting.interrupted_above": "1ms"}
"""All loops, also those with a burst of large copies."""
STREAM = "../../scenarios/stream.toml"
STREAMING = {"window": "100ms", "workload.0.scan": "false"}
"""Writes of 1 MiB between two ends of ours; the receiver reads no byte."""
DSA = "dsa-spr"
GB, GBIT = 1e9, 1e9 / 8


def raw(session: Session) -> list[Result]:
    if session.other_cpu is None:
        session.log("dma: skipped, the software engine needs a second CPU")
    copiers = ["cpu"] if session.other_cpu is None else ["cpu", "dma"]
    return [result for copier in copiers for result in _raw(session, copier)]


def _raw(session: Session, copier: str) -> list[Result]:
    lcores = f"0@{session.cpu}" + ("" if session.other_cpu is None else f",1@{session.other_cpu}")
    reference = "rte_memcpy" if copier == "cpu" else "rte_dma"
    with Program(session, "raw_copies", [copier, DEPTH, BATCH], RAW_MIB, lcores) as program:
        return [_at(session, program, size, copier, reference) for size in SIZES]


def _at(session: Session, program: Program, size: str, copier: str, reference: str) -> Result:
    def take_round() -> dict[str, Sample]:
        with Steal(session.cpu) as steal:
            output = program.round(SIZES[size], round(2 * session.seconds * 1000))
        sides = {copier: output["ours"], reference: output["bare"]}
        return {name: _sample(side, output["tsc_hz"], steal.share) for name, side in sides.items()}

    take_round()  # warms up
    rounds = session.rounds(take_round, "GB/s", GB)
    return compared(session, f"{copier}, {size}", rounds, copier, reference, "GB/s", GB, RAW)


def _sample(output: dict, tsc_hz: int, steal: float | None) -> Sample:
    return rate(output["bytes"], output["ticks"] / tsc_hz * 1e9, output["preempted_ns"], steal)


def unpacking(session: Session) -> list[Result]:
    if session.other_cpu is None:
        session.log("unpacking: skipped, it needs two CPUs")
        return []
    one_worker = {"client.cores": f"[{session.cpu}]", "server.cores": f"[{session.cpu}]"}
    of_each = {"client.cores": f"[{session.cpu}]", "server.cores": f"[{session.other_cpu}]", "wire.kind": "memif"}
    ways = {
        way: one_worker | {"workload.0.copies": f'{{ engine = "dma", way = "{way}" }}'}
        for way in ("pipelined", "wait_all")
    }
    beside = {
        "zero": of_each | {"workload.0.copies": '{ way = "zero" }', "wire.udp_checksum": "false"},
        "cpu": of_each | {"workload.0.copies": '{ engine = "cpu" }', "wire.udp_checksum": "false"},
    }
    return [
        result
        for payload in PAYLOADS
        for result in (
            _unpacked(session, f"dma, {payload} B", payload, ways, NOT_BELOW),
            _unpacked(session, f"memif, {payload} B", payload, beside, None),
        )
    ]


def _unpacked(
    session: Session, name: str, payload: int, ways: Mapping[str, Mapping[str, str]], goal: Goal | None
) -> Result:
    mtu = str(payload + HEADERS)
    sets = {"client.mtu": mtu, "server.mtu": mtu} | UNPACKING

    def take(of: Mapping[str, str]) -> Sample:
        return session.run(SCENARIO, sets | of, of="client" if "wire.kind" in of else None).copied()

    rounds = session.in_turns({way: lambda of=of: take(of) for way, of in ways.items()}, "Gbit/s", GBIT)
    ours, reference = ways
    return compared(session, name, rounds, ours, reference, "Gbit/s", GBIT, goal)


def modelled(session: Session) -> list[Result]:
    return [*_fed_with_the_cpu(session), *_fed_with_dsa(session)]


def _fed_with_the_cpu(session: Session) -> list[Result]:
    free = session.directory / "free.toml"
    write_profile(free, profile_text("free", "an engine that costs nothing", [(1, 0.0)], "by definition"))
    curve = [(payload, _ns_of_a_copy(session, payload, free)) for payload in CURVE]
    session.log(f"the CPU's copies: {', '.join(f'{ns:.1f} ns at {payload} B' for payload, ns in curve)}")
    by_cpu = session.directory / "cpu.toml"
    write_profile(by_cpu, profile_text("cpu", "this host's CPU", curve, "runs with the copier cpu"))
    off = ("% off", lambda ratio: abs(ratio - 1) * 100)
    return [
        compared(
            session,
            f"model of the CPU, {payload} B held out",
            _beside_cpu(session, payload, _by_model(str(by_cpu))),
            "model",
            "cpu",
            "Gbit/s",
            GBIT,
            NEAR if payload in HELD_OUT else None,
            off,
        )
        for payload in HELD_OUT + UNALIGNED
    ]


def _ns_of_a_copy(session: Session, payload: int, free: Path) -> float:
    kept = _beside_cpu(session, payload, _by_model(str(free))).kept
    return median(
        payload * 1e9 * (1 / cpu.value - 1 / model.value) for cpu, model in zip(kept["cpu"], kept["model"], strict=True)
    )


def _fed_with_dsa(session: Session) -> list[Result]:
    gain = ("% gain", lambda ratio: (ratio - 1) * 100)
    unpacked = [
        (f"dsa, {way}, {payload} B", _beside_cpu(session, payload, _by_model(DSA, way)))
        for payload in PAYLOADS
        for way in ("wait_all", "pipelined")
    ]
    streamed = _in_turns_with_cpu(session, STREAM, STREAMING, _by_model(DSA))
    named = [*unpacked, ("dsa, a stream of writes of 1 MiB", streamed)]
    return [compared(session, name, rounds, "model", "cpu", "Gbit/s", GBIT, as_result=gain) for name, rounds in named]


def _by_model(profile: str, way: str = "pipelined") -> str:
    return f'{{ engine = "model", way = "{way}", options = {{ profile = "{profile}" }} }}'


def _beside_cpu(session: Session, payload: int, copies: str) -> Rounds:
    mtu = str(payload + HEADERS)
    return _in_turns_with_cpu(session, SCENARIO, UNPACKING | {"client.mtu": mtu, "server.mtu": mtu}, copies)


def _in_turns_with_cpu(session: Session, scenario: str, sets: Mapping[str, str], copies: str) -> Rounds:
    core = f"[{session.cpu}]"
    on_one_worker = {"client.cores": core, "server.cores": core} | TIMED | sets

    def take(of: str) -> Sample:
        return session.run(scenario, on_one_worker | {"workload.0.copies": of}).copied_in_timed_calls()

    contestants = {"model": copies, "cpu": '{ engine = "cpu" }'}
    return session.in_turns({name: lambda of=of: take(of) for name, of in contestants.items()}, "Gbit/s", GBIT)


if __name__ == "__main__":
    main(__doc__, raw, unpacking, modelled)
