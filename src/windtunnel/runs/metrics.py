"""Metrics from the engine's raw counters; docs/reference/metrics.md has each with its unit, formula and error.

Counters are added over windows and over the instances of a stage first, and divided last: never an average of averages.
What the accounting level did not measure, or what had nothing to measure, is None and never zero.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

from windtunnel.engine.histogram import Histogram
from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import PortWindow, StageWindow, Window, WorkerWindow, WorkloadWindow
from windtunnel.runs.histogram import merge, percentiles
from windtunnel.runs.registry import STAGE_COUNTERS
from windtunnel.runs.registry.percentiles import PERCENTILES, Latency
from windtunnel.runs.rows import LevelRow, PortRow, Spread, StageRow, WorkerRow, WorkloadRow

MEASURED = ("measure",)
VARIED = ("measure", "variant")
"""Windows of all variants."""

TRAVEL = {
    "client": ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"),
    "server": ("nic_rx", "disp_rx", "app_rx", "app_tx", "disp_tx", "nic_tx"),
}

_NS = 1e9
_MILLION = 1e6


def measured(windows: Iterable[Window], phases: Collection[str] = MEASURED) -> list[Window]:
    return [window for window in windows if window.phase in phases]


def seconds(windows: Iterable[Window]) -> float:
    """Time that the windows cover, s."""
    return sum(window.end_ns - window.start_ns for window in windows) / _NS


def stage_rows(
    windows: Iterable[Window], hello: Hello, phases: Collection[str] = MEASURED, *, call_ticks: float | None = None
) -> list[StageRow]:
    """The stages of one engine over its windows of these phases, client first, in the order in which a packet travels.

    A stage without a call was not counted (accounting `off`): it has no row, rather than one of zeros. `call_ticks` is what
    reading the clock adds to a timed call (`ready.timed_call_ticks`); None: rows do not tell it apart.
    """
    chosen = measured(windows, phases)
    groups = _by("endpoint stage", (window.stages for window in chosen))
    worker_cycles = _worker_cycles(chosen)
    duration = seconds(chosen)
    counted = {key: members for key, members in groups.items() if _sum(members, "calls")}
    ordered = sorted(counted.items(), key=lambda group: (group[0][0], TRAVEL[group[0][0]].index(group[0][1])))
    return [_stage_row(members, worker_cycles, duration, hello.tsc_hz, call_ticks) for _, members in ordered]


def worker_rows(windows: Iterable[Window], phases: Collection[str] = MEASURED) -> list[WorkerRow]:
    """The workers of one engine."""
    chosen = measured(windows, phases)
    workers = _by("worker", (window.workers for window in chosen))
    stages = _by("worker", (window.stages for window in chosen))
    duration = seconds(chosen)
    return [_worker_row(workers[w], stages.get(w, []), duration) for w in sorted(workers)]


def port_rows(windows: Iterable[Window], phases: Collection[str] = MEASURED) -> list[PortRow]:
    """The ports of one engine: the totals of its endpoints, counted at the wire."""
    chosen = measured(windows, phases)
    ports = _by("endpoint", (window.ports for window in chosen))
    duration = seconds(chosen)
    return [_port_row(ports[side], duration) for side in sorted(ports)]


def workload_rows(
    windows: Iterable[Window], names: Sequence[str], phases: Collection[str] = MEASURED
) -> list[WorkloadRow]:
    """The workloads as the client saw them; `names` are those of the plan's workloads, in its order."""
    chosen = measured(windows, phases)
    workloads = _by("workload", (window.workloads for window in chosen))
    duration = seconds(chosen)
    return [workload_row(names[index], workloads[index], duration) for index in sorted(workloads)]


def level_rows(windows: Iterable[Window], phases: Collection[str] = MEASURED) -> list[LevelRow]:
    """Entries in use of each ring, free mbufs of each pool."""
    levels: dict[tuple[str, int], list[int]] = {}
    for window in measured(windows, phases):
        for ring in window.rings:
            levels.setdefault((f"ring {ring.name}", ring.size), []).append(ring.used)
        for pool in window.pools:
            levels.setdefault((f"free mbufs of the {pool.endpoint}", pool.size), []).append(pool.free)
    return [LevelRow(name, size, min(values), max(values)) for (name, size), values in levels.items()]


Key = TypeVar("Key", int, str)


def add(counters: Iterable[dict[Key, int]]) -> dict[Key, int]:
    """The sum of counters by key, keys ascending."""
    total: dict[Key, int] = {}
    for counter in counters:
        for key, count in counter.items():
            total[key] = total.get(key, 0) + count
    return dict(sorted(total.items()))


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """The quotient, or None if there is nothing to divide or to divide by."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def latency(histogram: Histogram | None, lost: int = 0) -> Latency:
    """Percentiles of a histogram of ns, and of so many messages that took longer than any in it."""
    most, samples = (histogram.max, histogram.total) if histogram else (None, 0)
    values = percentiles(histogram, [each.percent for each in PERCENTILES], lost)
    of_fields = {each.field: value for each, value in zip(PERCENTILES, values, strict=True)}
    return Latency(**of_fields, maximum=most, samples=samples)


def _by(names: str, parts: Iterable[Iterable[Any]]) -> dict[Any, list[Any]]:
    """The parts of all windows by the values of these attributes."""
    key = attrgetter(*names.split())
    groups: dict[Any, list[Any]] = {}
    for part in chain.from_iterable(parts):
        groups.setdefault(key(part), []).append(part)
    return groups


def _sum(members: Sequence[object], name: str) -> int:
    return sum(getattr(member, name) for member in members)


def _sum_or_none(members: Sequence[object], name: str) -> int | None:
    """The sum; None if one of them is not known: a part is not the whole."""
    values = [getattr(member, name) for member in members]
    return None if None in values or not values else sum(values)


def _worker_cycles(windows: Iterable[Window]) -> dict[int, int]:
    """Cycles of the timed loops of each worker."""
    cycles: dict[int, int] = {}
    for window in windows:
        for worker in window.workers:
            cycles[worker.worker] = cycles.get(worker.worker, 0) + worker.timed_cycles
    return cycles


def _stage_row(
    members: list[StageWindow],
    worker_cycles: dict[int, int],
    duration_s: float,
    tsc_hz: int,
    call_ticks: float | None,
) -> StageRow:
    objects, calls, empty = (_sum(members, name) for name in ("objects", "calls", "empty_calls"))
    timed_objects = _sum(members, "timed_objects")
    busy, idle, stall = (_sum(members, name) for name in ("busy_cycles", "idle_cycles", "stall_cycles"))
    calls_with_work = _sum_or_none(members, "timed_work_calls")
    clock = None
    if call_ticks is not None and calls_with_work is not None:
        clock = min(calls_with_work * call_ticks, busy - stall)
    loops = sum(worker_cycles.get(worker, 0) for worker in {member.worker for member in members})
    interrupted = _sum(members, "interrupted_cycles")
    burst = add(member.burst for member in members)
    tick_ns = _NS / tsc_hz
    return StageRow(
        endpoint=members[0].endpoint,
        stage=members[0].stage,
        instances=len({member.index for member in members}),
        objects=objects,
        mpps=ratio(objects / _MILLION, duration_s),
        work_ns=ratio((busy - stall) * tick_ns, timed_objects),
        net_work_ns=None if clock is None else ratio((busy - stall - clock) * tick_ns, timed_objects),
        stall_ns=ratio(stall * tick_ns, timed_objects),
        mean_burst=ratio(objects, sum(n for size, n in burst.items() if size)),
        busy_share=ratio(busy, loops),
        stall_share=ratio(stall, loops),
        idle_share=ratio(idle, loops),
        empty_calls_share=ratio(empty, calls),
        stalled_calls=_sum(members, "stalled_calls"),
        interrupted_calls=_sum(members, "interrupted_calls"),
        interrupted_share=ratio(interrupted, loops),
        drops=add(member.drops for member in members),
        burst=burst,
        completion=_spread(merge(member.completion for member in members), tick_ns),
        stall=_spread(merge(member.stall for member in members), tick_ns),
        counters={name: _sum_or_none(members, name) for name in STAGE_COUNTERS},
    )


def _spread(histogram: Histogram | None, tick_ns: float) -> Spread | None:
    if histogram is None:
        return None
    mean = ratio(histogram.sum, histogram.total)
    ticks = (histogram.min, mean, *percentiles(histogram, (50, 99)), histogram.max)
    return Spread(*(None if value is None else value * tick_ns for value in ticks))


def _worker_row(members: list[WorkerWindow], stages: list[StageWindow], duration_s: float) -> WorkerRow:
    timed = _sum(members, "timed_cycles")
    busy, idle, stall = (_sum(stages, name) for name in ("busy_cycles", "idle_cycles", "stall_cycles"))
    interrupted, traffic = _sum(stages, "interrupted_cycles"), _sum(stages, "traffic_cycles")
    preempted = _sum_or_none(members, "preempted_ns")
    if preempted is not None:  # the kernel counts a wait when it ends: it may have begun before these windows
        preempted = min(preempted, round(duration_s * _NS))
    return WorkerRow(
        worker=members[0].worker,
        cpu=members[0].cpu,
        sides=" + ".join(dict.fromkeys(stage.endpoint for stage in stages)),
        mloops=ratio(_sum(members, "loops") / _MILLION, duration_s),
        work_share=ratio(busy - stall, timed),
        stall_share=ratio(stall, timed),
        idle_share=ratio(idle, timed),
        interrupted_share=ratio(interrupted, timed),
        traffic_share=ratio(traffic, timed),
        preempted_share=ratio(preempted, duration_s * _NS),
    )


def _port_row(members: list[PortWindow], duration_s: float) -> PortRow:
    apart = ("endpoint", "doorbells", "link_down_ns")
    total = {field: _sum(members, field) for field in PortWindow.model_fields if field not in apart}
    doorbells = _sum_or_none(members, "doorbells")
    return PortRow(
        endpoint=members[0].endpoint,
        rx_packets=total["rx_packets"],
        tx_packets=total["tx_packets"],
        rx_mpps=ratio(total["rx_packets"] / _MILLION, duration_s),
        tx_mpps=ratio(total["tx_packets"] / _MILLION, duration_s),
        rx_gbps=ratio(total["rx_bytes"] * 8 / _NS, duration_s),
        tx_gbps=ratio(total["tx_bytes"] * 8 / _NS, duration_s),
        rx_burst=ratio(total["rx_packets"], total["rx_bursts"]),
        tx_burst=ratio(total["tx_packets"], total["tx_bursts"]),
        tx_packets_per_doorbell=ratio(total["tx_packets"], doorbells),
    )


def workload_row(name: str, members: Sequence[WorkloadWindow], duration_s: float) -> WorkloadRow:
    """One workload over some of its windows, which lasted `duration_s`, in their order."""
    counts = {c: _sum(members, c) for c in ("offered", "sent", "responses", "lost", "late", "duplicates")}
    paced = [member.pacing for member in members if member.pacing]
    return WorkloadRow(
        workload=name,
        loop="open" if paced else "closed",
        **counts,
        negative_latency=_sum_or_none(members, "negative_latency"),
        unsent=members[-1].unsent,
        in_flight=members[-1].in_flight,
        responses_per_s=ratio(counts["responses"], duration_s),
        offered_per_s=ratio(counts["offered"], duration_s),
        latency=latency(merge(member.latency for member in members), counts["lost"]),
        latency_sent=latency(merge(member.latency_sent for member in members), counts["lost"]),
        pacing=latency(merge(paced)) if paced else None,
    )
