"""Runs in memory whose workers wait as long as a test says; for tests of diagnosis."""

from pathlib import Path

import numpy as np
import sample_lines as sample
from sample_records import engine_record, record
from validity_tools import load_phase, open_loop

from windtunnel.engine.plan import Delay, Plan
from windtunnel.engine.windows import Window, WorkerWindow
from windtunnel.measure.variants import in_order, variant
from windtunnel.parts.diagnose.delays import ALONE, HELD
from windtunnel.runs import Run
from windtunnel.runs.validity import Validity
from windtunnel.scenario.keys import Scenario

CYCLES = sample.WINDOW_NS * sample.TSC_HZ // 10**9
WINDOWS = 12
WIGGLE = (0.0, 0.01, -0.01, 0.004, -0.006, 0.002)
"""Of a share from window to window: 0 in the mean of six windows, as good as independent."""

SCENARIO = {"client": {}, "server": {}, "workload": [{"handler": "l_app"}]}


def made(
    client: float = 0.2,
    server: float = 0.05,
    *,
    plan: Plan | None = None,
    windows: int = WINDOWS,
    messages: int = 500_000,
    latency_ns: int = 1_024_000,
    stalls: dict[tuple[str, str], float] | None = None,
    work: dict[tuple[str, str], float] | None = None,
    drops: dict[str, int] | None = None,
    loads: dict | None = None,
    scenario: dict | None = None,
    waits: dict[int, float] | None = None,
    **about,
) -> Run:
    """A run whose client's worker waits for that share of its time and whose server's waits for that one, or each worker for its own in `waits`.

    `stalls`: of that share, what is stall in a stage instead of idle. `work`: weight of a stage in its worker's work, 1 without. `drops`: of
    the client's nic_tx in each window. `loads`: counters of the workload. `about`: fields of the record.
    """
    plan = plan or sample.plan()
    *_, shape = (line for line in sample.engine_lines(plan) if isinstance(line, Window))
    share = {"client": client, "server": server}
    every = [
        _window(
            plan, shape, n, share, messages, latency_ns, stalls or {}, work or {}, drops or {}, loads or {}, waits or {}
        )
        for n in range(windows)
    ]
    resolved = Scenario.model_validate(SCENARIO | (scenario or {})).model_dump(mode="json")
    known = {"title": "made", "validity": Validity(checks=[], excluded=[]), "scenario": resolved} | about
    return Run(Path("runs/made"), record(engine_record(plan), **known), {"windtunnel": every})


def _window(plan, shape, n, share, messages, latency_ns, stalls, work, drops, loads, of_workers) -> Window:
    stages, workers = [], []
    for number, worker in enumerate(plan.workers):
        side = plan.endpoints[worker.stages[0].endpoint].side
        own = of_workers.get(number, share[side])
        waits = min(max(own + WIGGLE[n % len(WIGGLE)] * own, 0.0), 1.0)
        weights = {part.stage: work.get((side, part.stage), 1.0) for part in worker.stages}
        for part in worker.stages:
            first = next(s for s in shape.stages if (s.endpoint, s.stage) == (side, part.stage))
            idle = CYCLES * waits / len(worker.stages)
            stall = idle * stalls.get((side, part.stage), 0.0)
            busy = CYCLES * (1 - waits) * weights[part.stage] / sum(weights.values())
            calls = messages // 32 * 2
            stalled = round(messages // 32 * stalls.get((side, part.stage), 0.0))
            stages.append(
                first.model_copy(
                    update={
                        "index": part.index,
                        "worker": number,
                        "calls": calls,
                        "empty_calls": messages // 32 - stalled,
                        "stalled_calls": stalled,
                        "objects": messages,
                        "burst": {32: messages // 32},
                        "timed_calls": calls,
                        "timed_objects": messages,
                        "busy_cycles": round(busy + stall),
                        "idle_cycles": round(idle - stall),
                        "stall_cycles": round(stall),
                        "interrupted_calls": 0,
                        "interrupted_cycles": 0,
                        "drops": drops if (side, part.stage) == ("client", "nic_tx") else {},
                    }
                )
            )
        cycles = sum(s.busy_cycles + s.idle_cycles for s in stages if s.worker == number)
        workers.append(_worker(number, worker.cpu, cycles, messages // 32 * 2))
    workloads = [_loaded(w, messages, latency_ns, loads) for w in shape.workloads]
    times = {"index": n, "phase": "measure", "start_ns": n * sample.WINDOW_NS, "end_ns": (n + 1) * sample.WINDOW_NS}
    return shape.model_copy(update=times | {"stages": stages, "workers": workers, "workloads": workloads})


def _worker(number, cpu, cycles, loops) -> WorkerWindow:
    return WorkerWindow(
        worker=number, cpu=cpu, loops=loops, cycles=cycles, timed_cycles=cycles, preempted_ns=0,
        on_cpu_ns=sample.WINDOW_NS, steal_ns=0, chain_ticks=290.0, wide_ticks=140.0,
    )  # fmt: skip


def _loaded(shape, messages, latency_ns, loads):
    seen = sample.histogram([latency_ns], times=messages)
    counts = {
        "offered": messages,
        "sent": messages,
        "responses": messages,
        "lost": 0,
        "late": 0,
        "duplicates": 0,
        "in_flight": 1024,
    }
    return shape.model_copy(update=counts | {"latency": seen, "latency_sent": seen} | loads)


def opened(**more) -> Run:
    """Such a run in an open loop."""
    return made(plan=open_loop(sample.plan(), [load_phase(None)]), **more)


SECOND_NS = 10**9
STAGE_NS = 15.0
"""What each stage takes for a message in a run that lets workers run alone."""


def _costing(stage, ns, messages, hz, batch):
    """The stage with that much work for each message, in calls of one size. Every second call finds nothing."""
    calls = stage.objects // batch
    return stage.model_copy(
        update={
            "busy_cycles": round(ns * messages * hz / 1e9),
            "stall_cycles": 0,
            "calls": 2 * calls,
            "timed_calls": 2 * calls,
            "empty_calls": calls,
            "burst": {batch: calls},
        }
    )


def experimental(
    slack_ns: dict[str, float],
    *,
    base_ns: float = 100.0,
    blocks: int = 30,
    remedies: dict | None = None,
    noise: float = 0.002,
    alone: dict[tuple[str, str], float] | None = None,
    batches: int = 32,
) -> Run:
    """The run of an experiment: in each block of windows each variant once. A message takes `base_ns`; a delay of a side's stage that is longer
    than its slack makes it as much longer. `remedies`: variants of that name, and what they multiply the time by. `alone`: ns that a stage
    takes less for a message while the other side holds still; its calls then move so many `batches`."""
    rng = np.random.default_rng(3)
    delays = [
        (side, stage, part) for side, stage in (("client", "app_tx"), ("server", "app_rx")) for part in (0.1, 0.3)
    ]
    changed = [
        variant(f"{side} {stage} {part:.0%} later", delays=[Delay(endpoint=side, stage=stage, ns=part * base_ns)])
        for side, stage, part in delays
    ]
    times = [base_ns, *(base_ns + max(0.0, part * base_ns - slack_ns[side]) for side, _, part in delays)]
    for side, stage, other in (("client", "app_tx", ("server", "app_rx")), ("server", "app_rx", ("client", "app_tx"))):
        held = Delay(endpoint=other[0], stage=other[1], ns=HELD * base_ns)
        changed += [variant(f"{ALONE}{side} {stage}", delays=[held])] if alone is not None else []
        times += [base_ns * (1 + HELD)] if alone is not None else []
    for name, (sets, factor) in (remedies or {}).items():
        changed.append(variant(f"remedy: {name}", sets))
        times.append(base_ns * factor)
    variants = in_order(changed, blocks * (1 + len(changed)), seed=1)
    plan = sample.plan().model_copy(update={"variants": variants})
    weights = {("client", "app_tx"): 2.0, ("server", "app_rx"): 2.0}
    run = made(
        client=slack_ns["client"] / base_ns, server=slack_ns["server"] / base_ns, plan=plan, windows=1, work=weights
    )
    (shape,) = run.windows["windtunnel"]
    hz = run.record.engines[0].hello.tsc_hz
    windows = []
    drift = 1.0
    for place, number in enumerate(variants.order):
        drift *= 1 + rng.normal(0, noise)
        messages = round(SECOND_NS / (times[number] * drift))
        of = {(d.endpoint, d.stage): d.ns for d in variants.variants[number].delays}
        stages = [
            s.model_copy(update={"delay_cycles": round(of.get((s.endpoint, s.stage), 0.0) * messages * hz / 1e9)})
            for s in shape.stages
        ]
        if (of_alone := variants.variants[number].name).startswith(ALONE) or alone is not None and not number:
            own = of_alone.removeprefix(ALONE).split()[0]
            saved = {stage: ns for stage, ns in alone.items() if stage[0] == own}
            stages = [
                _costing(s, STAGE_NS - saved.get((s.endpoint, s.stage), 0.0), messages, hz, batches if number else 32)
                for s in stages
            ]
        workloads = [w.model_copy(update={"responses": messages}) for w in shape.workloads]
        about = {"index": place, "variant": number, "phase": "variant" if number else "measure", "stages": stages}
        span = {"start_ns": place * SECOND_NS, "end_ns": (place + 1) * SECOND_NS, "workloads": workloads}
        windows.append(shape.model_copy(update=about | span))
    return Run(run.path, run.record, {"windtunnel": windows})
