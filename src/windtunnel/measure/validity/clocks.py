"""The clocks: the TSC against the kernel's clock, and time stamps against what they measure."""

from collections.abc import Sequence

from windtunnel.engine.lines import Result
from windtunnel.engine.windows import Window
from windtunnel.runs import metrics
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.validity import Check, State
from windtunnel.scenario.validity_keys import Validity as Limits

STAMP_SHARE = 0.2
"""Share of a call's time that the time stamp may cost without a warning."""
LOOPS_A_LATENCY = 4
"""Loops of the client; a shorter latency is mostly the client's own."""


def tsc_check(result: Result, limits: Limits) -> Check:
    """Whether the TSC and CLOCK_MONOTONIC_RAW agree about how long the run was."""
    error = abs(result.clock_error_ppm)
    sentence = f"the TSC and the kernel's clock differ by {error:.3g} ppm"
    state: State = "bad" if error > limits.max_clock_error else "good"
    return Check(name="clock", state=state, words=sentence, value=error, limit=limits.max_clock_error, unit="ppm")


def resolution_check(
    engines: Sequence[EngineRecord], measured: Sequence[Sequence[Window]], workloads: Sequence[WorkloadRow]
) -> Check:
    """Whether time stamps are cheap against what is measured with them."""
    coarse = []
    for engine, windows in zip(engines, measured, strict=True):
        coarse += _short_calls(engine, windows)
        coarse += _short_latencies(engine, windows, workloads)
    if coarse:
        return Check(name="resolution", state="note", words="; ".join(coarse))
    return Check(name="resolution", state="good", words="calls are long compared with the cost of a time stamp")


def _short_calls(engine: EngineRecord, windows: Sequence[Window]) -> list[str]:
    """Stages whose calls with work last hardly longer than a time stamp."""
    if engine.ready is None or engine.hello is None:
        return []
    stamp, tick_ns = engine.ready.stamp_ticks, 1e9 / engine.hello.tsc_hz
    short = []
    for row in metrics.stage_rows(windows, engine.hello):
        if row.work_ns is None or not row.mean_burst:
            continue
        call_ticks = (row.work_ns + (row.stall_ns or 0)) * row.mean_burst / tick_ns
        if stamp > STAMP_SHARE * call_ticks:
            short.append(f"{row.endpoint} {row.stage}")
    if not short:
        return []
    return [f"a time stamp ({stamp:.0f} ticks) costs more than {STAMP_SHARE:.0%} of a call of {', '.join(short)}"]


def _short_latencies(engine: EngineRecord, windows: Sequence[Window], workloads: Sequence[WorkloadRow]) -> list[str]:
    """Latencies hardly longer than a loop of the client, which reads the clock once a burst."""
    if engine.hello is None or not any(window.workloads for window in windows):
        return []
    clients = {s.worker for window in windows for s in window.stages if s.endpoint == "client"}
    of_client = [w for window in windows for w in window.workers if w.worker in clients]
    loops = sum(w.loops for w in of_client)
    if not loops:
        return []
    loop_ns = sum(w.cycles for w in of_client) / loops * 1e9 / engine.hello.tsc_hz
    return [
        f"the median latency of {row.workload}, {row.latency.p50} ns, is only {row.latency.p50 / loop_ns:.1f} loops of the client"
        for row in workloads
        if row.latency.p50 is not None and row.latency.p50 < LOOPS_A_LATENCY * loop_ns
    ]
