"""All checks of a run, one after the other."""

from collections.abc import Mapping, Sequence

from windtunnel.engine.emulated import emulated_faults
from windtunnel.engine.windows import Window
from windtunnel.host.levels import Readings
from windtunnel.measure.validity import accounting, clocks, excluded_windows, generator, host_states, settled, traffic
from windtunnel.measure.validity.slack import slacks
from windtunnel.runs import metrics
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.registry.percentiles import PERCENTILES
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.validity import Check, ExcludedWindow, Validity, counted, of_variant
from windtunnel.scenario.validity_keys import Validity as Limits
from windtunnel.stats.samples import enough


def validate(
    engines: Sequence[EngineRecord],
    windows: Mapping[str, Sequence[Window]],
    limits: Limits,
    known: Readings | None = None,
    preempting: str | None = None,
) -> Validity:
    """Checks what the engines of a run measured, to its end or until it was stopped. `known`: what was read on this host, this run
    included; None: this run alone. `preempting`: names of the programs that ran on the workers' CPUs.

    In a run with variants, the first one is checked. Windows of the others are excluded by the same rules, each variant's among themselves,
    and in the headline's state.

    Windows with preemption, steal, a slower clock or no link are excluded first, then those of another host state than the headline's. The
    other checks use the windows that are left. If too few are, only what does not depend on them is checked: the clock, the host's state over all windows, whether all packets were dropped, and what is emulated.
    """
    measured = {engine.name: metrics.measured(windows[engine.name]) for engine in engines}
    marks = _taken_by_host(engines, windows, limits)
    known = known or host_states.readings_of(windows)
    checks = [excluded_windows.windows_check(measured, marks, limits, preempting)]
    checks += [check for engine in engines if (check := _clock(engine, limits))]
    too_few_left = checks[0].state == "bad"
    host = host_states.judge(engines, windows, [] if too_few_left else marks, known, limits.state)
    checks += [host.check] if host.check else []
    plans = [engine.plan for engine in engines]
    if too_few_left:  # the metrics are rejected and of all windows, whatever their state; more checks would blame what follows from it
        used = traffic.traffic_check(measured, plans[0].phases.window_ns, plans)
        checks += [used] if used.state == "warning" else []  # no host makes every packet one that cannot be used
        return Validity(checks=[*checks, _emulated(engines)], excluded=marks, states=host.states)
    marks += host.excluded
    level = settled.check(engines, windows, marks, limits)
    checks.append(level.check)
    left = counted(measured, Validity(checks=[], excluded=marks))
    workers = [row for engine in engines for row in metrics.worker_rows(left[engine.name])]
    waiting = slacks(
        {name: metrics.measured(engine_windows) for name, engine_windows in left.items()},
        {e.name: e.plan for e in engines},
    )
    workloads: list[WorkloadRow] = []
    for engine in engines:
        if any(workload.load for workload in engine.plan.workloads):
            checks += generator.checks(left[engine.name], engine.plan, workers, waiting, limits)
            workloads += metrics.workload_rows(left[engine.name], [w.name for w in engine.plan.workloads])
    checks.append(traffic.traffic_check(left, plans[0].phases.window_ns, plans))
    checks.append(accounting.interrupted_check(workers, engines[0].plan.accounting.interrupted_above_ns))
    checks.append(clocks.resolution_check(engines, [left[engine.name] for engine in engines], workloads))
    checks += [check for row in workloads if (check := _samples(row))]
    checks.append(_emulated(engines))
    return Validity(
        checks=checks,
        excluded=[*marks, *_excluded_of_others(engines, windows, limits, known, host.headline)],
        states=host.states,
        headline=host.headline,
        settled=level.settled,
        settled_phases=level.phases,
    )


def _taken_by_host(
    engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]], limits: Limits
) -> list[ExcludedWindow]:
    """Measured windows with preemption, steal, a slower clock or no link."""
    measured = {engine.name: metrics.measured(windows[engine.name]) for engine in engines}
    return excluded_windows.excluded(measured, excluded_windows.lengths(engines, measured), limits)


def _excluded_of_others(
    engines: Sequence[EngineRecord],
    windows: Mapping[str, Sequence[Window]],
    limits: Limits,
    known: Readings,
    headline: str | None,
) -> list[ExcludedWindow]:
    """Excluded windows of each variant but the first one."""
    variants = engines[0].plan.variants
    excluded: list[ExcludedWindow] = []
    for number, variant in enumerate(variants.variants if variants else ()):
        if number == 0:
            continue
        variant_windows = {name: of_variant(of_engine, number) for name, of_engine in windows.items()}
        marks = _taken_by_host(engines, variant_windows, limits)
        host = host_states.judge(engines, variant_windows, marks, known, headline)
        if headline is not None and host.headline is None:
            reason = f"{variant.name}: no window in {headline}, the state that the metrics are of"
            excluded += [
                ExcludedWindow(engine=name, window=window.index, reasons=[reason])
                for name, of_engine in variant_windows.items()
                for window in metrics.measured(of_engine)
            ]
            continue
        excluded += [*marks, *host.excluded]
    return excluded


def _clock(engine: EngineRecord, limits: Limits) -> Check | None:
    return clocks.tsc_check(engine.result, limits) if engine.result else None


def _emulated(engines: Sequence[EngineRecord]) -> Check:
    """Which part of the wire is emulated: the metrics do not include what it leaves out."""
    ports = [endpoint.port for engine in engines for endpoint in engine.plan.endpoints]
    kinds = dict.fromkeys(port.wire for port in ports if "nic" not in port.traits)
    parts = [f'the wire "{kind}" has no NIC' for kind in kinds]
    parts += emulated_faults(engine.plan for engine in engines)
    return Check(name="emulated", state="good", words="; ".join(parts) or "nothing: the wire is a NIC")


def _samples(row: WorkloadRow) -> Check | None:
    """Percentiles that are not shown, because there are too few responses for them."""
    missing = [
        percentile
        for percentile in PERCENTILES
        if percentile.in_tables
        and getattr(row.latency, percentile.field) is None
        and not enough(row.responses + row.lost, percentile.share)
    ]
    if not missing:
        return None
    sentence = (
        f"{row.responses} responses of {row.workload} are too few for {', '.join(percentile.name for percentile in missing)}: "
        f"{missing[-1].name} needs {round(1 / (1 - missing[-1].share))}"
    )
    return Check(name="samples", state="note", words=sentence, value=float(row.responses), limit=None)
