"""All checks of a run, one after the other."""

from collections.abc import Mapping, Sequence

from windtunnel.engine.emulated import emulated_faults
from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import accounting, clocks, excluded_windows, generator, host_states, steady
from windtunnel.runs import metrics
from windtunnel.runs.histogram import merge
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.validity import Check, ExcludedWindow, State, Validity, counted
from windtunnel.scenario.validity_keys import Validity as Limits


def validate(
    engines: Sequence[EngineRecord],
    windows: Mapping[str, Sequence[Window]],
    limits: Limits,
    known: Readings | None = None,
    preempting: str | None = None,
) -> Validity:
    """Checks what the engines of a run measured, to its end or until it was stopped. `known`: what was read on this host, this run
    included; None: this run alone. `preempting`: the programs that ran on the workers' CPUs, in words.

    Windows with preemption, steal or a slower clock are excluded first, then those of another host state than the headline's, then
    those at the beginning in which the data plane was still warming up. The other checks use the windows that are left.
    """
    measured = {engine.name: metrics.measured(windows[engine.name]) for engine in engines}
    nominal_ns = {engine.name: engine.plan.phases.window_ns for engine in engines}
    marks = excluded_windows.excluded(measured, nominal_ns, limits)
    checks = [excluded_windows.windows_check(measured, marks, limits, preempting)]
    checks += [check for engine in engines if (check := _clock(engine, limits))]
    if checks[0].state == "bad":  # too few windows are left for further checks
        return Validity(checks=checks, excluded=marks)
    host = host_states.judge(engines, windows, marks, known or host_states.readings_of(windows), limits.state)
    checks += [host.check] if host.check else []
    marks += host.excluded
    settled, late = _steady(engines, measured, marks, limits)
    checks.append(settled)
    marks += late
    left = counted(measured, Validity(checks=[], excluded=marks))
    workers = [row for engine in engines for row in metrics.worker_rows(left[engine.name])]
    workloads: list[WorkloadRow] = []
    for engine in engines:
        if any(workload.load for workload in engine.plan.workloads):
            checks += generator.checks(left[engine.name], engine.plan, workers, limits)
            workloads += metrics.workload_rows(left[engine.name], [w.name for w in engine.plan.workloads])
    checks.append(accounting.interrupted_check(workers, engines[0].plan.accounting.interrupted_above_ns))
    checks.append(clocks.resolution_check(engines, [left[engine.name] for engine in engines], workloads))
    checks += [check for row in workloads if (check := _samples(row))]
    checks.append(_emulated(engines))
    return Validity(checks=checks, excluded=marks, states=host.states, headline=host.headline)


def _clock(engine: EngineRecord, limits: Limits) -> Check | None:
    return clocks.tsc_check(engine.result, limits) if engine.result else None


def _steady(
    engines: Sequence[EngineRecord],
    measured: Mapping[str, Sequence[Window]],
    marks: Sequence[ExcludedWindow],
    limits: Limits,
) -> tuple[Check, list[ExcludedWindow]]:
    """Whether the run reached a steady state, and the windows before it."""
    left = counted(measured, Validity(checks=[], excluded=list(marks)))
    asking = next((engine for engine in engines if any(w.workloads for w in left[engine.name])), engines[-1])
    if _changes(asking.plan):
        return Check(name="steady", state="unknown", words="not checked: the load itself changes"), []
    windows = left[asking.name]
    rates, what = _rates(windows)
    cut = steady.transient(rates, limits.max_drift)
    late = [
        ExcludedWindow(engine=asking.name, window=window.index, reasons=[f"warming up: {what} not steady yet"])
        for window in windows[:cut]
    ]
    if cut and cut == len(rates) // 2:
        words = f"{what} not steady by the middle of the measurement. Use a longer warm-up or duration"
        return Check(name="steady", state="bad", words=words), late
    open_loop = any(w.load and w.load.mode == "open" for w in asking.plan.workloads)
    series = _median_latencies(windows[cut:]) if open_loop else rates[cut:]
    what = "the median latency" if open_loop else what
    return _drift_check(series, what, cut, limits), late


def _drift_check(series: Sequence[float], what: str, cut: int, limits: Limits) -> Check:
    change = steady.drift(series)
    warm = f"; the first {cut} windows excluded: warming up" if cut else ""
    state: State = "good"
    if change is None:
        state = "unknown"
        words = f"{len(series)} windows are too few to check for drift, {steady.LEAST_WINDOWS} are needed{warm}"
    elif abs(change) > limits.max_drift:
        state = "bad"
        words = f"{what} {'rose' if change > 0 else 'fell'} by {abs(change):.0%} during the measurement. Use a longer warm-up, or an idle host"
    else:
        words = (f"{what} did not drift" if change == 0 else f"{what} drifted by {abs(change):.1%}") + warm
    value = None if change is None else abs(change)
    return Check(name="steady", state=state, words=words, value=value, limit=limits.max_drift, unit="share")


def _changes(plan: Plan) -> bool:
    """Whether the load changes with time by itself, or the frames come at a capture's times."""
    loads = [workload.load for workload in plan.workloads if workload.load]
    varied = any(len(load.phases) > 1 or any(phase.off_ns for phase in load.phases) for load in loads)
    return varied or any("timed" in endpoint.port.traits for endpoint in plan.endpoints)


def _rates(windows: Sequence[Window]) -> tuple[list[float], str]:
    """Responses a second of each window; packets where there is no client."""
    if any(window.workloads for window in windows):
        counts, what = [sum(w.responses for w in window.workloads) for window in windows], "responses a second"
    else:
        counts, what = [sum(p.rx_packets for p in window.ports) for window in windows], "packets a second"
    return [count / metrics.seconds([window]) for count, window in zip(counts, windows, strict=True)], what


def _median_latencies(windows: Sequence[Window]) -> list[float]:
    """Of all workloads together, ns; windows with too few responses for one are skipped."""
    merged = [metrics.latency(merge(w.latency for w in window.workloads)) for window in windows]
    return [float(latency.p50) for latency in merged if latency.p50 is not None]


def _emulated(engines: Sequence[EngineRecord]) -> Check:
    """Which part of the wire is emulated: the metrics do not include what it leaves out."""
    ports = [endpoint.port for engine in engines for endpoint in engine.plan.endpoints]
    kinds = dict.fromkeys(port.wire for port in ports if "nic" not in port.traits)
    parts = [f'the wire "{kind}" has no NIC' for kind in kinds]
    parts += emulated_faults(engine.plan for engine in engines)
    return Check(name="emulated", state="good", words="; ".join(parts) or "nothing: the wire is a NIC")


def _samples(row: WorkloadRow) -> Check | None:
    """Percentiles that are not shown, because there are too few responses for them."""
    names = (("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9))
    values = (row.latency.p50, row.latency.p90, row.latency.p99, row.latency.p999)
    missing = [(name, percent) for (name, percent), value in zip(names, values, strict=True) if value is None]
    if not missing:
        return None
    name, percent = missing[-1]
    words = (
        f"{row.responses} responses of {row.workload} are too few for {', '.join(n for n, _ in missing)}: "
        f"{name} needs {round(100 / (100 - percent))}"
    )
    return Check(name="samples", state="warning", words=words, value=float(row.responses), limit=None)
