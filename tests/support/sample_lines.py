"""Runs that were never run: lines as an engine would write them, for tests of what reads them.

Nothing here was measured. The numbers are drawn from a seed and hang together: bursts add up to objects, ledgers close.
"""

from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
from part_samples import plan_fields

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.ledgers import MbufLedger, MessageLedger, PacketLedger
from windtunnel.engine.line_model import Line
from windtunnel.engine.lines import LINES_VERSION, Hello, Phase, Ready, Result
from windtunnel.engine.plan import PLAN_VERSION, Plan
from windtunnel.engine.windows import (
    PoolLevel,
    PortWindow,
    RingLevel,
    StageWindow,
    Window,
    WorkerWindow,
    WorkloadWindow,
)
from windtunnel.engine.wires import known

TSC_HZ = 2_500_000_000
WINDOW_NS = 500_000_000
SAMPLE_EVERY = 13
PHASES = ("warmup",) * 2 + ("measure",) * 8 + ("drain",)

WORK_TICKS = {
    "client": {"app_tx": 74, "disp_tx": 52, "nic_tx": 21, "nic_rx": 17, "disp_rx": 45, "app_rx": 58},
    "server": {"nic_rx": 19, "disp_rx": 61, "app_rx": 96, "disp_tx": 49, "nic_tx": 23},
}
OPTIONS = {"null": {"packet": "64", "copy": "false"}, "memif": {"socket": "/tmp/memif.sock", "role": "side"}}
STALL_TICKS = {("client", "app_tx"): 31, ("server", "nic_tx"): 6}


def histogram(values, bits: int = 11, times: int = 1) -> Histogram:
    """A histogram of these values, each counted `times` times."""
    whole = np.array(values if isinstance(values, np.ndarray) else list(values)).astype(np.int64)
    shifts = np.maximum(0, np.frexp(whole)[1] - bits)  # the exponent of a float is the length of its integer in bits
    lowest, counts = np.unique((whole >> shifts) << shifts, return_counts=True)
    return Histogram(
        bits=bits,
        counts=list(zip(lowest.tolist(), (counts * times).tolist(), strict=True)),
        total=len(whole) * times,
        sum=int(whole.sum()) * times,
        min=int(whole.min()) if len(whole) else None,
        max=int(whole.max()) if len(whole) else None,
    )


def plan(
    sides=("client", "server"), *, wire="ring", level="sampled", memory="hugepages", title="L-App echo", faults=None
) -> Plan:
    """A plan with one application and one dispatcher an endpoint, a worker an endpoint."""
    message = wire != "null"
    handler = {"name": "l_app", "options": {}} if message else None
    stages = {side: [s for s in WORK_TICKS[side] if message or not s.startswith(("app", "disp_tx"))] for side in sides}
    return Plan.model_validate(
        {
            "version": PLAN_VERSION,
            "hash": "0" * 64,
            "title": title,
            "seed": 1,
            "eal": {"args": ["--no-pci"], "memory": memory, "file_prefix": "wt-sample"},
            "accounting": {"level": level, "sample_every": SAMPLE_EVERY, "interrupted_above_ns": 5000},
            "phases": {
                "warmup_ns": 2 * WINDOW_NS,
                "duration_ns": 8 * WINDOW_NS,
                "window_ns": WINDOW_NS,
                "messages": None,
                "drain_ns": WINDOW_NS,
                "hold_windows": False,
            },
            "hello_wait_ns": None,
            "endpoints": [_endpoint(side, wire, message, faults) for side in sides],
            "workloads": [
                plan_fields("WORKLOAD")
                | {
                    "name": "echo",
                    "client_applications": 1 if message else 0,
                    "client_slots": 1024 if message else 0,
                    "request_bytes": 86,
                    "response_bytes": 86,
                    "request_sizes": None,
                    "response_sizes": None,
                    "handler": handler,
                    "packet_handler": None if message else {"name": "l2fwd", "options": {}},
                    "scan": True,
                    "extra_ticks": 0,
                    "timeout_ns": 1_000_000_000,
                    "load": {"mode": "closed", "phases": [], "lead": 0} if message else None,
                }
            ],
            "workers": [
                {
                    "lcore": n + 1,
                    "cpu": n,
                    "stages": [{"endpoint": n, "stage": stage, "index": 0} for stage in stages[side]],
                }
                for n, side in enumerate(sides)
            ],
            "record": None,
            "trace": None,
            "raw_latency": None,
            "variants": None,
        }
    )


def spec(plans=None, names=("windtunnel",), **more) -> SimpleNamespace:
    """What `windtunnel.scenario.resolve` hands over."""
    plans = plans or [plan()]
    question = "What does one small RPC cost, stage by stage?"
    about = {"title": plans[0].title, "question": question, "notes": [], "labels": {}, "testbed": None}
    about |= {"resolved": {"title": plans[0].title}} | more
    return SimpleNamespace(plans=plans, names=list(names), **about)


def engine_lines(of: Plan, *, mpps: float = 6.2, seed: int = 1, lost: int = 0) -> list[Line]:
    """A whole run of this plan: phases, hello, ready, windows and result. `lost` messages vanish in each window."""
    return list(_engine_lines(of.model_dump_json(), mpps, seed, lost))


@cache
def _engine_lines(plan_text: str, mpps: float, seed: int, lost: int) -> list[Line]:
    """Drawn once for all tests: these lines are never changed, only copied."""
    of = Plan.model_validate_json(plan_text)
    rng = np.random.default_rng(seed)
    windows = [_window(of, index, mpps, rng, lost) for index in range(len(PHASES))]
    notes = ["net_ring moves mbufs: no byte is copied on the wire"] if of.endpoints[0].port.wire == "ring" else []
    drivers = {endpoint.side: f"net_{endpoint.port.wire}" for endpoint in of.endpoints}
    return [
        Phase(type="phase", name="starting EAL", at_ns=0),
        Hello(
            type="hello",
            version=LINES_VERSION,
            engine="0.1.0",
            build="b1" * 20,
            dpdk="DPDK 22.11.7",
            pid=4711,
            plan_hash=of.hash,
            tsc_hz=TSC_HZ,
            tsc_source="measured against CLOCK_MONOTONIC_RAW",
            memory=of.eal.memory,
            numa_sockets=1,
        ),
        Phase(type="phase", name="opening ports", at_ns=380_000_000),
        Ready(type="ready", at_ns=420_000_000, level_cost_ticks=4.5, stamp_ticks=36.0, drivers=drivers, notes=notes),
        *windows,
        _result(of, windows),
    ]


def _endpoint(side: str, wire: str, message: bool, faults: dict | None) -> dict:
    client = side == "client"
    own, peer = (1, 2) if client else (2, 1)
    return {
        "side": side,
        "ip": f"10.0.0.{own}",
        "mac": f"02:00:00:00:00:0{own}",
        "peer_ip": f"10.0.0.{peer}" if client else None,
        "peer_mac": f"02:00:00:00:00:0{peer}" if client else None,
        "udp_port": 9000,
        "peer_udp_port": 9000 if client else None,
        "mtu": 1500,
        "pool": {"size": 8191, "cache": 256, "ops": "ring_mp_mc", "data_room_bytes": 2176},
        "port": {
            "wire": wire,
            "traits": list(known()[wire].traits),
            "options": OPTIONS.get(wire, {}),
            "queues": 1,
            "rx_descriptors": 1024,
            "tx_descriptors": 1024,
            "rx_free_thresh": None,
            "tx_free_thresh": None,
            "tx_rs_thresh": None,
            "udp_checksum": True,
            "chains": False,
            "faults": faults,
            "link": None,
        },
        "batch": dict.fromkeys(("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"), 32),
        "ring_size": 1024,
        "response_mbuf": "request",
        "applications": [{"workload": 0, "dispatchers": [0], "inflight": 1024 if client else 0}] if message else [],
        "dispatchers": [{"workload": 0, "queue": 0, "peers": [0] if client else []}],
    }


def _window(of: Plan, index: int, mpps: float, rng, lost: int) -> Window:
    phase = PHASES[index]
    share = {"warmup": 0.7 + 0.15 * index, "measure": 1.0, "drain": 0.0002}[phase]
    packets = int(mpps * 1e6 * WINDOW_NS / 1e9 * share * rng.normal(1, 0.015))
    level = of.accounting.level
    every = {"off": 0, "counts": 0, "sampled": SAMPLE_EVERY}.get(level, 1)
    sides = [endpoint.side for endpoint in of.endpoints]
    stages = [
        _stage(sides[part.endpoint], part, worker, packets, every, level, rng)
        for worker, plan_worker in enumerate(of.workers)
        for part in plan_worker.stages
        if level != "off"
    ]
    timed = Counter()
    for stage in stages:
        timed[stage.worker] += stage.busy_cycles + stage.idle_cycles + stage.interrupted_cycles
    start = 420_000_000 + index * WINDOW_NS
    lost = lost if phase == "measure" else 0
    responses = packets - lost
    return Window(
        type="window",
        index=index,
        phase=phase,
        start_ns=start,
        end_ns=start + WINDOW_NS,
        stages=stages,
        steps=[],
        counters=[],
        workers=[
            WorkerWindow(
                worker=n,
                cpu=worker.cpu,
                loops=packets // 24 + 1,
                cycles=WINDOW_NS * TSC_HZ // 1_000_000_000,
                timed_cycles=timed[n],
                preempted_ns=int(rng.integers(100_000, 900_000)),
                on_cpu_ns=WINDOW_NS - 1_000_000,
                steal_ns=0,
                chain_ticks=float(rng.normal(290, 2)),
                wide_ticks=float(rng.normal(140, 3)),
            )
            for n, worker in enumerate(of.workers)
        ],
        ports=[
            PortWindow(
                endpoint=side,
                rx_packets=responses,
                rx_bytes=responses * 128,
                rx_bursts=responses // 24 + 1,
                tx_packets=packets,
                tx_bytes=packets * 128,
                tx_bursts=packets // 27 + 1,
                doorbells=None,
            )
            for side in sides
        ],
        workloads=[_workload(packets, lost, rng)] if "client" in sides else [],
        rings=[
            RingLevel(name=f"{side} application 0 to dispatcher 0", size=1024, used=int(rng.integers(0, 300)))
            for side in sides
        ],
        pools=[PoolLevel(endpoint=side, size=8191, free=int(rng.integers(6000, 7000))) for side in sides],
    )


def _stage(side: str, part, worker: int, packets: int, every: int, level: str, rng) -> StageWindow:
    burst = _bursts(packets, full=0.55 if part.stage.startswith("nic") else 0.8)
    calls = sum(burst.values())
    empty = calls // 3 if part.stage in ("nic_rx", "app_rx") else calls // 20
    timed_objects = packets // every if every else 0
    work = int(timed_objects * WORK_TICKS[side][part.stage] * rng.normal(1, 0.02))
    stall = int(timed_objects * STALL_TICKS.get((side, part.stage), 0))
    timed = level == "histograms" and calls
    batches = (work + stall) // max(calls, 1) * rng.lognormal(0, 0.25, 400) if timed else None
    return StageWindow(
        endpoint=side,
        stage=part.stage,
        index=part.index,
        worker=worker,
        calls=calls + empty,
        empty_calls=empty,
        objects=packets,
        burst=burst,
        timed_calls=(calls + empty) // every if every else 0,
        timed_objects=timed_objects,
        busy_cycles=work + stall,
        idle_cycles=timed_objects * 12,
        stall_cycles=stall,
        stalled_calls=calls // 9 if stall else 0,
        interrupted_calls=3 if every else 0,
        interrupted_cycles=61_000 if every else 0,
        traffic_cycles=0,
        drops={"bad_checksum": 2, "no_slot": 1} if (side, part.stage) == ("client", "disp_rx") else {},
        completion=histogram(batches, bits=5) if timed else None,
        stall=histogram(batches * 0.1, bits=5) if timed else None,
    )


def _bursts(packets: int, full: float) -> dict[int, int]:
    """Calls by size that add up to so many packets: `full` of them in bursts of 32, the rest in smaller ones."""
    burst = {32: int(packets * full / 32)}
    rest = packets - burst[32] * 32
    for size in range(31, 1, -1):
        burst[size] = rest // 496
    left = packets - sum(size * calls for size, calls in burst.items())
    burst[1] = left
    return {size: calls for size, calls in sorted(burst.items()) if calls}


def _workload(packets: int, lost: int, rng) -> WorkloadWindow:
    responses = packets - lost
    fast = rng.lognormal(np.log(196_000), 0.09, 2000)
    slow = rng.lognormal(np.log(420_000), 0.5, 12)
    shape = histogram(np.concatenate([fast, slow]))
    weights = np.array([count for _, count in shape.counts], dtype=float)
    counts = rng.multinomial(responses, weights / weights.sum())
    buckets = [(lowest, int(count)) for (lowest, _), count in zip(shape.counts, counts, strict=True) if count]
    latency = Histogram(
        bits=11,
        counts=buckets,
        total=responses,
        sum=sum(lowest * count for lowest, count in buckets),
        min=buckets[0][0] if buckets else None,
        max=buckets[-1][0] if buckets else None,
    )
    return WorkloadWindow(
        workload=0,
        offered=packets,
        unsent=0,
        inflight_full=0,
        sent=packets,
        responses=responses,
        lost=lost,
        late=0,
        duplicates=0,
        in_flight=0,
        latency=latency,
        latency_sent=latency,
        pacing=None,
    )


def _result(of: Plan, windows: list[Window]) -> Result:
    sent = sum(port.tx_packets for window in windows for port in window.ports[:1])
    finished = [workload for window in windows for workload in window.workloads]
    responses, lost = sum(w.responses for w in finished), sum(w.lost for w in finished)
    both = len(of.endpoints) == 2
    dropped = {"emulated_loss": lost} if lost else {}
    return Result(
        type="result",
        at_ns=windows[-1].end_ns,
        reason="duration",
        measured_ns=8 * WINDOW_NS,
        clock_error_ppm=0.3,
        mbufs=[
            MbufLedger(endpoint=e.side, size=8191, free=8191 - 1024, held={"port rx": 1024}, missing=0)
            for e in of.endpoints
        ],
        packets=[
            PacketLedger(
                source="client", sent=sent, duplicated=0, received=sent - lost, dropped=dropped, in_wire=0, missing=0
            )
        ]
        if both
        else [],
        messages=[
            MessageLedger(
                workload=0,
                offered=responses + lost,
                unsent=0,
                sent=responses + lost,
                responses=responses,
                lost=lost,
                late=0,
                duplicates=0,
                in_flight=0,
                missing=0,
            )
        ]
        if finished
        else [],
        counters=[],
        xstats=None,
        pacing=None,
        worker_allocations=0,
        recorded=None,
        record_missed=None,
        trace=None,
        peak_rss_bytes=96 << 20,
        hugepage_bytes=128 << 20 if of.eal.memory == "hugepages" else 0,
    )
