"""The clocks: the TSC against the kernel's, the speed of the cores, and stamps against what they measure."""

from collections.abc import Sequence

from windtunnel.engine.lines import Result, Window
from windtunnel.runs import metrics
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.validity import Check
from windtunnel.scenario.validity_keys import Validity as Limits

STAMP_SHARE = 0.2
"""Of a call's time that taking the time may be before a reader should know."""
NEIGHBOUR = 1.15
"""Between two windows in what the additions take: a hardware thread beside this one came or went."""
LOOPS_A_LATENCY = 4
"""A latency shorter than so many loops of the client is mostly the client's own."""


def tsc_check(result: Result, limits: Limits) -> Check:
    """Whether the TSC and CLOCK_MONOTONIC_RAW agree about how long the flight was."""
    error = abs(result.clock_error_ppm)
    words = f"the TSC and the kernel's clock parted by {error:.3g} parts in a million"
    state = "bad" if error > limits.clock else "good"
    return Check(name="clock", state=state, words=words, value=error, limit=limits.clock, unit="ppm")


def neighbour_check(measured: Sequence[Window]) -> Check:
    """Whether something shared the execution units of a worker's core for a part of the time only.

    A hypervisor's neighbour on the same physical core shows in no counter of this machine; what it takes shows in how long the
    same additions last.
    """
    ticks: dict[int, list[float]] = {}
    for window in measured:
        for worker in window.workers:
            if worker.wide_ticks:
                ticks.setdefault(worker.cpu, []).append(worker.wide_ticks)
    if not ticks:
        return Check(name="neighbour", state="unknown", words="how fast the cores ran was not looked at")
    cpu, ratio = max(((cpu, max(seen) / min(seen)) for cpu, seen in ticks.items()), key=lambda each: each[1])
    if ratio > NEIGHBOUR:
        words = (
            f"the same additions took up to {ratio:.2f} times as long on CPU {cpu} in some windows as in others: something shares its "
            "execution units now and then"
        )
        return Check(name="neighbour", state="warning", words=words, value=ratio, limit=NEIGHBOUR, unit="ratio")
    words = f"the cores were as fast in every window, within {ratio - 1:.0%}"
    return Check(name="neighbour", state="good", words=words, value=ratio, limit=NEIGHBOUR, unit="ratio")


def resolution_check(
    engines: Sequence[EngineRecord], measured: Sequence[Sequence[Window]], workloads: Sequence[WorkloadRow]
) -> Check:
    """Whether the stamps are fine enough for what is measured with them."""
    coarse = []
    for engine, windows in zip(engines, measured, strict=True):
        coarse += _short_calls(engine, windows)
        coarse += _short_latencies(engine, windows, workloads)
    if coarse:
        return Check(name="resolution", state="warning", words="; ".join(coarse))
    return Check(name="resolution", state="good", words="what was timed is long against the cost of a stamp")


def _short_calls(engine: EngineRecord, windows: Sequence[Window]) -> list[str]:
    """Stages whose calls with work last hardly longer than taking their time."""
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
    return [f"taking the time ({stamp:.0f} ticks) is more than {STAMP_SHARE:.0%} of a call of {', '.join(short)}"]


def _short_latencies(engine: EngineRecord, windows: Sequence[Window], workloads: Sequence[WorkloadRow]) -> list[str]:
    """Latencies that are not much longer than a loop of the client, which reads the clock once a burst."""
    if engine.hello is None or not any(window.workloads for window in windows):
        return []
    clients = {s.worker for window in windows for s in window.stages if s.endpoint == "client"}
    of_client = [w for window in windows for w in window.workers if w.worker in clients]
    loops = sum(w.loops for w in of_client)
    if not loops:
        return []
    loop_ns = sum(w.cycles for w in of_client) / loops * 1e9 / engine.hello.tsc_hz
    return [
        f"{row.workload}'s median latency of {row.latency.p50} ns is only {row.latency.p50 / loop_ns:.1f} loops of the client"
        for row in workloads
        if row.latency.p50 is not None and row.latency.p50 < LOOPS_A_LATENCY * loop_ns
    ]
