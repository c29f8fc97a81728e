"""Runs of one trial, as searches judge them: what was due and lost, the client's pacing, preemption, and the host's state."""

from pathlib import Path

import sample_lines as sample
from sample_records import record

from windtunnel.engine.plan import Link
from windtunnel.engine.windows import Probe, Window
from windtunnel.runs import EngineRecord, Run, Verdict

ZERO = dict.fromkeys(("offered", "sent", "responses", "lost", "late", "unsent", "in_flight"), 0)
SECOND_NS = 1_000_000_000


def probe(line_ns: float, complete: bool = True) -> Probe:
    pairs = [{"a": 0, "b": 1, "line_ns": line_ns}] if complete else []
    workers = [{"worker": n, "alone_ticks": 1000.0, "together_ticks": 1000.0} for n in (0, 1) if complete]
    return Probe.model_validate({"complete": complete, "held_ns": 60_000, "pairs": pairs, "workers": workers})


def a_run(
    *,
    queue=None,
    pacing=None,
    preempted_ns=None,
    longest_pause_ns=None,
    steal_ns=None,
    slowest_ns=9_000,
    latency=None,
    line_ns=None,
    complete=True,
    busy=1.0,
    counts=None,
    reasons=(),
    path="run",
) -> Run:
    """A warm-up, one measured window of a second and the drain. `queue`: of an emulated link of the client; `preempted_ns`, `longest_pause_ns`,
    `steal_ns`: by worker; `slowest_ns`: the longest latency; `line_ns`: round trip at both ends of the window, None: not probed;
    `complete`: the probe at its end was not cut short."""
    plan = sample.plan()
    if queue:
        port = plan.endpoints[0].port
        port = port.model_copy(update={"link": Link(bits_per_s=1e8, delay_ns=0, queue=queue)})
        client = plan.endpoints[0].model_copy(update={"port": port})
        plan = plan.model_copy(update={"endpoints": [client, plan.endpoints[1]]})
    shape = next(line for line in sample.engine_lines(plan) if isinstance(line, Window))
    latency = latency or sample.histogram([4_000] * 999 + [slowest_ns])
    workers = [
        worker.model_copy(
            update={
                "preempted_ns": (preempted_ns or {}).get(worker.worker, 0),
                "longest_pause_ns": (longest_pause_ns or {}).get(worker.worker),
                "steal_ns": (steal_ns or {}).get(worker.worker, 0),
                "chain_ticks": 3000.0,
                "wide_ticks": 3000.0 * busy,
            }
        )
        for worker in shape.workers
    ]
    windows = []
    for index, phase in enumerate(("warmup", "measure", "drain")):
        measured = phase == "measure"
        own = {"latency": latency, "latency_sent": latency, "pacing": pacing if measured else None}
        window = {
            "index": index,
            "phase": phase,
            "start_ns": index * SECOND_NS,
            "end_ns": (index + 1) * SECOND_NS,
            "workers": workers,
            "workloads": [shape.workloads[0].model_copy(update=ZERO | (counts or {} if measured else {}) | own)],
            "probe": None if line_ns is None else probe(line_ns, complete or not measured),
        }
        windows.append(shape.model_copy(update=window))
    engine = EngineRecord(name="windtunnel", plan=plan)
    return Run(Path(path), record(engine, verdict=Verdict(not reasons, list(reasons))), {"windtunnel": windows})
