"""Small plans for tests: valid by the models, not meant to be run by the real engine."""

from part_samples import plan_fields

from windtunnel.engine.plan import PLAN_VERSION, Plan
from windtunnel.engine.plan_values import STAGES
from windtunnel.engine.wires import known

BATCH = dict.fromkeys(STAGES, 32)
HANDLER = {"name": "l_app", "options": {}}


def make_plan(
    sides: tuple[str, ...] = ("client", "server"),
    *,
    kind: str = "ring",
    socket: str | None = None,
    duration_ms: int = 60,
    packet_handler: str | None = None,
) -> Plan:
    """A plan of one workload with one application and one dispatcher a side, windows of 20 ms."""
    phases = {"warmup_ns": 20_000_000, "duration_ns": duration_ms * 1_000_000, "window_ns": 20_000_000}
    workload = plan_fields("WORKLOAD") | {
        "name": "echo",
        "request_bytes": 86,
        "response_bytes": 86,
        "request_sizes": None,
        "response_sizes": None,
        "handler": None if packet_handler else HANDLER,
        "packet_handler": {"name": packet_handler, "options": {}} if packet_handler else None,
        "scan": True,
        "extra_ticks": 0,
        "timeout_ns": 100_000_000,
        "load": {"mode": "closed", "phases": [], "lead": 0} if "client" in sides else None,
        "client_applications": 1,
        "client_slots": 1024,
    }
    return Plan.model_validate(
        {
            "version": PLAN_VERSION,
            "hash": "ab" * 32,
            "title": "L-App echo",
            "seed": 1,
            "eal": {"args": ["--no-huge"], "memory": "no-huge", "file_prefix": f"wt-test-{'-'.join(sides)}"},
            "accounting": {"level": "sampled", "sample_every": 13, "interrupted_above_ns": 5000},
            "phases": phases | {"messages": None, "drain_ns": 20_000_000, "hold_windows": False},
            "hello_wait_ns": None,
            "endpoints": [_endpoint(side, kind, socket) for side in sides],
            "workloads": [workload],
            "workers": [_worker(number, side) for number, side in enumerate(sides)],
            "record": None,
            "trace": None,
            "raw_latency": None,
            "variants": None,
        }
    )


def _endpoint(side: str, kind: str, socket: str | None) -> dict:
    client = side == "client"
    port = dict.fromkeys(("rx_free_thresh", "tx_free_thresh", "tx_rs_thresh"))
    port |= {
        "wire": kind,
        "traits": list(known()[kind].traits),
        "options": {"socket": socket} if socket else {},
        "queues": 1,
        "rx_descriptors": 256,
        "tx_descriptors": 256,
        "faults": None,
        "link": None,
        "udp_checksum": True,
        "chains": False,
    }
    return {
        "side": side,
        "ip": "10.0.0.1" if client else "10.0.0.2",
        "mac": "02:00:00:00:00:01" if client else "02:00:00:00:00:02",
        "peer_ip": "10.0.0.2" if client else None,
        "peer_mac": "02:00:00:00:00:02" if client else None,
        "udp_port": 5000,
        "peer_udp_port": 5000 if client else None,
        "mtu": 1500,
        "pool": {"size": 8191, "cache": 256, "ops": "ring_mp_mc", "data_room_bytes": 2176},
        "port": port,
        "batch": BATCH,
        "ring_size": 1024,
        "response_mbuf": "request",
        "applications": [{"workload": 0, "dispatchers": [0], "inflight": 1024 if client else 0}],
        "dispatchers": [{"workload": 0, "queue": 0, "peers": [0] if client else []}],
    }


def _worker(number: int, side: str) -> dict:
    stages = [stage for stage in STAGES if side == "client" or stage != "app_tx"]
    return {
        "lcore": number + 1,
        "cpu": number,
        "stages": [{"endpoint": number, "stage": stage, "index": 0} for stage in stages],
    }
