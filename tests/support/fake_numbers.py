"""What the fake engine says it has measured: round numbers that fit the plan and each other.

FAKE_CAPACITY is a data plane's: of an open loop's messages it answers so many a second, and loses the rest. FAKE_LINE_NS are round trips
of a cache line, as in "91,425": each run has one of them, as chance will; without it the host is not probed. Tests that set it set
XDG_STATE_HOME too: runs keep what they read.
"""

import os

CAPACITY = float(os.environ.get("FAKE_CAPACITY", "inf"))


def window(plan: dict, sides: list[str], index: int, phase: str) -> dict:
    """One window line."""
    length = plan["phases"]["window_ns"]
    stages = [
        {
            "endpoint": sides[stage["endpoint"]],
            "stage": stage["stage"],
            "index": stage["index"],
            "worker": number,
            "calls": 1200,
            "empty_calls": 200,
            "objects": 32_000,
            "burst": {"32": 1000},
            "timed_calls": 120,
            "timed_objects": 3200,
            "busy_cycles": 64_000,
            "idle_cycles": 2000,
            "stall_cycles": 6400,
            "stalled_calls": 1,
            "traffic_cycles": 0,
            "interrupted_calls": 0,
            "interrupted_cycles": 0,
            "drops": {},
            "completion": None,
            "stall": None,
        }
        for number, worker in enumerate(plan["workers"])
        for stage in worker["stages"]
    ]
    workers = [
        {
            "worker": number,
            "cpu": worker["cpu"],
            "loops": 1200,
            "cycles": 2 * length,
            "timed_cycles": 1_000_000,
            "preempted_ns": 0,
            "on_cpu_ns": length,
            "steal_ns": 0,
            "chain_ticks": 290.0,
            "wide_ticks": 140.0,
        }
        for number, worker in enumerate(plan["workers"])
    ]
    histogram = {"bits": 11, "counts": [[1500, 900], [3000, 100]], "total": 1000, "sum": 1_650_000}
    histogram |= {"min": 1500, "max": 3000}
    workloads = [
        {"workload": number, "unsent": 0, "late": 0}
        | counted(plan, number, phase)
        | {
            "inflight_full": 0,
            "duplicates": 0,
            "in_flight": 0,
            "latency": histogram,
            "latency_sent": histogram,
            "pacing": histogram if open_rate(plan, number) else None,
        }
        for number in range(len(plan["workloads"]) if "client" in sides else 0)
    ]
    counts = dict.fromkeys(("rx_packets", "rx_bursts", "tx_packets", "tx_bursts"), 1000)
    ports = [{"endpoint": s, "rx_bytes": 128_000, "tx_bytes": 128_000, "doorbells": None} | counts for s in sides]
    pools = [{"endpoint": side, "size": 8191, "free": 8000} for side in sides]
    line = {
        "stages": stages,
        "steps": [],
        "counters": [],
        "workers": workers,
        "ports": ports,
        "workloads": workloads,
        "rings": [],
        "pools": pools,
        "probe": probe(plan),
    }
    times = {"start_ns": index * length, "end_ns": (index + 1) * length}
    return {"type": "window", "index": index, "phase": phase} | times | line


def probe(plan: dict) -> dict | None:
    """Of workers on cores of their own; the whole run is in one state."""
    trips = [float(ns) for ns in os.environ.get("FAKE_LINE_NS", "").split(",") if ns]
    if not trips or len(plan["workers"]) != 2:
        return None
    line_ns = trips[int(plan["hash"], 16) % len(trips)]
    workers = [{"worker": n, "alone_ticks": 1000.0, "together_ticks": 1000.0} for n in (0, 1)]
    return {"complete": True, "held_ns": 0, "pairs": [{"a": 0, "b": 1, "line_ns": line_ns}], "workers": workers}


def open_rate(plan: dict, workload: int) -> float | None:
    """Messages a second of the first phase of an open loop; None for a closed one."""
    load = plan["workloads"][workload]["load"]
    return load["phases"][0]["rate_per_s"] if load["mode"] == "open" else None


def counted(plan: dict, workload: int, phase: str) -> dict:
    """Messages of a window: a thousand, or what an open loop offers; of which the capacity is answered."""
    rate, seconds = open_rate(plan, workload), plan["phases"]["window_ns"] / 1e9
    offered = 1000 if rate is None else round(rate * seconds)
    responses = min(offered, int(CAPACITY * seconds)) if CAPACITY < float("inf") else offered
    if phase == "drain":
        offered = responses = 0
    return {"offered": offered, "sent": offered, "responses": responses, "lost": offered - responses}


def result(plan: dict, sides: list[str], at_ns: int, reason: str, windows: int) -> dict:
    """The result line after so many windows, warm-up and all; its ledgers close."""
    sent = 1000 * windows
    messages = {"workload": 0, "offered": sent, "unsent": 0, "sent": sent, "responses": sent, "lost": 0, "late": 0}
    messages |= {"duplicates": 0, "in_flight": 0, "missing": 0}
    mbufs = {"size": 8191, "free": 8000, "held": {"nic_rx descriptors": 191}, "missing": 0}
    packets = {"source": "client", "sent": sent, "duplicated": 0, "received": sent, "dropped": {}, "in_wire": 0}
    return {
        "type": "result",
        "at_ns": at_ns,
        "reason": reason,
        "measured_ns": windows * plan["phases"]["window_ns"],
        "clock_error_ppm": 0.3,
        "mbufs": [{"endpoint": side} | mbufs for side in sides],
        "packets": [packets | {"missing": 0}] if len(sides) == 2 else [],
        "messages": [messages] if "client" in sides else [],
        "counters": [],
        "xstats": None,
        "pacing": None,
        "worker_allocations": 0,
        "recorded": None,
        "record_missed": None,
        "trace": None,
        "peak_rss_bytes": 50 << 20,
        "hugepage_bytes": 0,
    }
