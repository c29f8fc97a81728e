"""All checks of a run, one after the other."""

from collections.abc import Mapping, Sequence

from windtunnel.engine.lines import Window
from windtunnel.engine.plan import Plan
from windtunnel.engine.planted import planted
from windtunnel.measure.validity import accounting, clocks, disturbed, generator, steady
from windtunnel.runs import metrics
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.validity import Check, Mark, Validity, counted
from windtunnel.scenario.validity_keys import Validity as Limits


def validate(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]], limits: Limits) -> Validity:
    """Looks at what the engines of a flight measured; each must have come to its result.

    First the windows that the host disturbed are marked, then those at the beginning in which the data plane was warming up; the other
    checks are made on what is left.
    """
    measured = {engine.name: metrics.measured(windows[engine.name]) for engine in engines}
    marks = disturbed.marks(measured, limits)
    checks = [disturbed.stolen_check(measured, marks, limits)]
    checks += [check for engine in engines if (check := _clock(engine, limits))]
    if checks[0].state == "bad":  # what is left is too little to ask it anything
        return Validity(checks=checks, marks=marks)
    settled, late = _steady(engines, measured, marks, limits)
    checks.append(settled)
    marks += late
    left = counted(measured, Validity(checks=[], marks=marks))
    workers = [row for engine in engines for row in metrics.worker_rows(left[engine.name])]
    workloads: list[WorkloadRow] = []
    for engine in engines:
        if any(workload.load for workload in engine.plan.workloads):
            checks += generator.checks(left[engine.name], engine.plan, workers, limits)
            workloads += metrics.workload_rows(left[engine.name], [w.name for w in engine.plan.workloads])
    checks.append(clocks.neighbour_check([window for of_engine in left.values() for window in of_engine]))
    checks.append(accounting.interrupted_check(workers, engines[0].plan.accounting.interrupted_above_ns))
    checks.append(clocks.resolution_check(engines, [left[engine.name] for engine in engines], workloads))
    checks += [check for row in workloads if (check := _samples(row))]
    checks.append(_emulated(engines))
    return Validity(checks=checks, marks=marks)


def _clock(engine: EngineRecord, limits: Limits) -> Check | None:
    return clocks.tsc_check(engine.result, limits) if engine.result else None


def _steady(
    engines: Sequence[EngineRecord], measured: Mapping[str, Sequence[Window]], marks: Sequence[Mark], limits: Limits
) -> tuple[Check, list[Mark]]:
    """Whether the figures had settled, and marks for the windows in which they had not yet."""
    left = counted(measured, Validity(checks=[], marks=list(marks)))
    asking = next((engine for engine in engines if any(w.workloads for w in left[engine.name])), engines[-1])
    if _changes(asking.plan):
        return Check(name="steady", state="unknown", words="not looked for: the load itself changes"), []
    windows = left[asking.name]
    rates, what = _rates(windows)
    cut = steady.transient(rates, limits.drift)
    late = [
        Mark(engine=asking.name, window=window.index, reasons=[f"warming up: {what} had not settled yet"])
        for window in windows[:cut]
    ]
    if cut and cut == len(rates) // 2:
        words = f"{what} had not settled by the middle of the measurement: a longer warm-up, or a longer duration"
        return Check(name="steady", state="bad", words=words), late
    open_loop = any(w.load and w.load.mode == "open" for w in asking.plan.workloads)
    series = _median_latencies(windows[cut:]) if open_loop else rates[cut:]
    what = "the median latency" if open_loop else what
    return _drift_check(series, what, cut, limits), late


def _drift_check(series: Sequence[float], what: str, cut: int, limits: Limits) -> Check:
    change = steady.drift(series)
    about = {"value": None if change is None else abs(change), "limit": limits.drift, "unit": "share"}
    settled = f"; the first {cut} windows were warming up and are in no figure" if cut else ""
    if change is None:
        words = f"{len(series)} windows are too few to look for a drift, {steady.LEAST_WINDOWS} are needed{settled}"
        return Check(name="steady", state="unknown", words=words, **about)
    if abs(change) > limits.drift:
        words = f"{what} {'rose' if change > 0 else 'fell'} by {abs(change):.0%} while measured: a longer warm-up, or a quieter host"
        return Check(name="steady", state="bad", words=words, **about)
    words = f"{what} did not drift" if change == 0 else f"{what} drifted by {abs(change):.1%}"
    return Check(name="steady", state="good", words=words + settled, **about)


def _changes(plan: Plan) -> bool:
    """Whether the load changes with time by itself, or the frames come at a capture's times."""
    loads = [workload.load for workload in plan.workloads if workload.load]
    varied = any(len(load.phases) > 1 or any(phase.off_ns for phase in load.phases) for load in loads)
    return varied or any(endpoint.port.pace == "capture" for endpoint in plan.endpoints)


def _rates(windows: Sequence[Window]) -> tuple[list[float], str]:
    """Answers a second of each window; packets where nobody asks."""
    if any(window.workloads for window in windows):
        counts, what = [sum(w.answered for w in window.workloads) for window in windows], "answers a second"
    else:
        counts, what = [sum(p.rx_packets for p in window.ports) for window in windows], "packets a second"
    return [count / metrics.seconds([window]) for count, window in zip(counts, windows, strict=True)], what


def _median_latencies(windows: Sequence[Window]) -> list[float]:
    """Of all workloads together, ns; windows with too few answers for one are passed over."""
    merged = [metrics.latency(metrics.merge(w.latency for w in window.workloads)) for window in windows]
    return [float(latency.p50) for latency in merged if latency.p50 is not None]


def _emulated(engines: Sequence[EngineRecord]) -> Check:
    """What of the flight was no real wire: the figures leave out what it leaves out."""
    kinds = dict.fromkeys(endpoint.port.kind for engine in engines for endpoint in engine.plan.endpoints)
    parts = [f'the wire "{kind}" has no NIC in it' for kind in kinds if kind != "pci"]
    parts += planted(engine.plan for engine in engines)
    return Check(name="emulated", state="good", words="; ".join(parts) or "nothing: the wire is a NIC's")


def _samples(row: WorkloadRow) -> Check | None:
    """Which percentiles are not shown, because too few answers came for them."""
    names = (("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9))
    values = (row.latency.p50, row.latency.p90, row.latency.p99, row.latency.p999)
    missing = [(name, percent) for (name, percent), value in zip(names, values, strict=True) if value is None]
    if not missing:
        return None
    name, percent = missing[-1]
    words = f"{row.answered} answers of {row.workload} are too few for {', '.join(n for n, _ in missing)}: {name} wants {round(100 / (100 - percent))}"
    return Check(name="samples", state="warning", words=words, value=float(row.answered), limit=None)
