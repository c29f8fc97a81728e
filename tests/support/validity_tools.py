"""Runs made of samples, as validity judges them."""

import sample_lines as sample
from sample_records import engine_record

from windtunnel.engine.plan import Load, LoadPhase, Plan
from windtunnel.engine.windows import Probe, Window
from windtunnel.measure.validity import validate
from windtunnel.scenario.validity_keys import Validity as Limits

LIMITS = Limits()
SPAN = sample.WINDOW_NS


def finished(windows=10):
    """An engine of one sample plan with so many measured windows, as the engine would have written them."""
    engine = engine_record(sample.plan())
    some = [line for line in sample.engine_lines(engine.plan) if isinstance(line, Window)]
    before = [w for w in some if w.phase == "warmup"]
    (shape, *_) = [w for w in some if w.phase == "measure"]
    measured = [shape.model_copy(update={"index": len(before) + n}) for n in range(windows)]
    return engine, before + measured


def in_time(windows):
    """The same windows, the measured ones one after the other in time."""
    first = windows.index(measured_of(windows)[0])
    begin = windows[first].start_ns
    moved = [
        window.model_copy(update={"start_ns": begin + n * SPAN, "end_ns": begin + (n + 1) * SPAN})
        for n, window in enumerate(windows[first:])
    ]
    return windows[:first] + moved


def load_phase(windows, rate=1e5, **more):
    """A phase so many windows long; null: for ever."""
    length = None if windows is None else int(windows * SPAN)
    nothing = {"arrivals": "constant", "on_ns": None, "off_ns": None}
    return LoadPhase.model_validate({"length_ns": length, "rate_per_s": rate} | nothing | more)


def open_loop(plan: Plan, *loads) -> Plan:
    """The plan with a workload for each of these lists of phases; the warm-up runs under the load of the first."""
    lead = [load_phase(plan.phases.warmup_ns / SPAN)] if plan.phases.warmup_ns else []
    workloads = [
        plan.workloads[0].model_copy(
            update={
                "name": plan.workloads[0].name if len(loads) == 1 else f"load{n}",
                "load": Load(mode="open", phases=[*lead, *phases], lead=len(lead)),
            }
        )
        for n, phases in enumerate(loads)
    ]
    return plan.model_copy(update={"workloads": workloads})


def with_median(window, median_ns):
    """The same window, all of whose responses took so long; None: it has none."""
    seen = sample.histogram([] if median_ns is None else [median_ns] * 100)
    one = window.workloads[0].model_copy(update={"latency": seen, "responses": seen.total})
    return window.model_copy(update={"workloads": [one]})


def in_phases(medians, *loads):
    """A run in an open loop whose measured windows had these median latencies, ns."""
    engine, windows = finished(len(medians))
    engine.plan = open_loop(engine.plan, *loads)
    windows = in_time(windows)
    first = windows.index(measured_of(windows)[0])
    seen = [with_median(window, median) for window, median in zip(windows[first:], medians, strict=True)]
    return engine, windows[:first] + seen


def changed(window, worker=0, **what):
    workers = [w.model_copy(update=what) if w.worker == worker else w for w in window.workers]
    return window.model_copy(update={"workers": workers})


def rated(window, factor):
    """The same window with so many times the answers."""
    one = window.workloads[0]
    return window.model_copy(update={"workloads": [one.model_copy(update={"responses": int(one.responses * factor)})]})


def judged(engine, windows, limits=LIMITS, preempting=None):
    return validate([engine], {engine.name: windows}, limits, preempting=preempting)


def check(validity, name):
    (found,) = [c for c in validity.checks if c.name == name]
    return found


def measured_of(windows):
    return [w for w in windows if w.phase == "measure"]


def probe(line_ns=91.0, together=1.0, complete=True):
    if not complete:
        return Probe(complete=False, held_ns=0, pairs=[], workers=[])
    workers = [{"worker": n, "alone_ticks": 1000.0, "together_ticks": 1000.0 * together} for n in (0, 1)]
    return Probe.model_validate(
        {"complete": True, "held_ns": 60_000, "pairs": [{"a": 0, "b": 1, "line_ns": line_ns}], "workers": workers}
    )


def probed(*probes, wide=()):
    """A run with these probes at the ends of its measured windows; the warm-up ends with the first one."""
    engine, windows = finished(len(probes))
    before = len(windows) - len(probes)
    seen = []
    for n, window in enumerate(windows):
        at = max(n - before, 0)
        busy = wide[at] if wide else 1.0
        workers = [w.model_copy(update={"chain_ticks": 3000.0, "wide_ticks": 3000.0 * busy}) for w in window.workers]
        seen.append(window.model_copy(update={"probe": probes[at], "workers": workers}))
    return engine, seen
