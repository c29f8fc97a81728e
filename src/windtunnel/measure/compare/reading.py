"""What a comparison needs of a run: the values of its metrics, and what it must have in common with the others."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from windtunnel.engine.windows import Window
from windtunnel.runs import Run, load
from windtunnel.runs.identity import flat, identity
from windtunnel.runs.metrics import TRAVEL, measured, ratio
from windtunnel.runs.registry import metrics
from windtunnel.runs.registry.metric import Better
from windtunnel.runs.rows import WorkloadRow
from windtunnel.runs.summary import Summary, summarise
from windtunnel.stats.samples import enough

WORKLOAD = {metric.compared: metric for metric in metrics("workload") if metric.compared}
COSTS = {metric.compared: metric for metric in metrics("stage") if metric.compared}
"""What is compared of a workload, and of a stage, by its name here."""
LATENCIES = tuple(name for name, metric in WORKLOAD.items() if metric.family == "latency")
STAGES = tuple(f"{side}.{stage}" for side, stages in TRAVEL.items() for stage in stages)
RATES = (*(name for name in WORKLOAD if name not in LATENCIES), "received_per_s")
METRICS = (*RATES, *LATENCIES, *(f"{stage}.{cost}" for stage in STAGES for cost in COSTS))
"""Every name that a metric can have."""

MAX_NOT_FORWARDED = 0.01
"""Share of the offered messages that may be lost or unsent in an open loop; above it, the rate decides instead of the latency."""

MetricKey = tuple[str, str]
"""A workload's name, or "" for what belongs to the run, and the metric."""


@dataclass(frozen=True)
class Reading:
    """One run, without its windows."""

    path: Path
    started: datetime | None
    reasons: list[str]
    """Why it is invalid and excluded; none: it is compared."""
    problems: list[str]
    scenario: dict[str, Any]
    """Every key as resolved, by its dotted path."""
    identity: dict[str, str]
    """What two runs must have in common to be compared: name -> text."""
    state: str | None
    """Host state of its metrics; None: not known."""
    line_ns: float | None
    """Round trip of a cache line between its workers' CPUs."""
    builds: list[str]
    """Build ids of the engines, without repetition; empty if not known."""
    question: str
    accounting: str
    emulated: list[str]
    modes: dict[str, str]
    """Workload -> closed, open, or without a client."""
    values: dict[MetricKey, float | None]
    not_forwarded: dict[str, float]
    """Workload -> share of the messages due that were lost or not sent."""
    relaxed: list[str] = field(default_factory=list)
    """Validity limits that its scenario relaxed."""
    unframed: bool = False
    """Its wire carries packets without frames."""
    included: list[str] = field(default_factory=list)
    """Why it is invalid, if its rejected metrics are compared nevertheless."""
    title: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    """What the user marked it with."""
    command: str | None = None
    """Of an observed program, as a shell has it."""
    unsettled: bool | None = None
    """Whether its windows had a step or a trend; None: not known."""
    finished: datetime | None = None
    excluded: frozenset[int] = frozenset()
    """Places of the windows that are in no metric, among the measured ones."""
    beyond: frozenset[MetricKey] = frozenset()
    """Percentiles that have no value because too many messages were lost: they are beyond any response."""


def read(path: Path, include_invalid: bool = False) -> Reading:
    """The reading of a run directory. `include_invalid`: rejected metrics are taken like others. Raises UserError, with file and line, for what is no run directory."""
    return reading_of(load(path), include_invalid)


def reading_of(run: Run, include_invalid: bool = False) -> Reading:
    """The reading of a run that is loaded."""
    record = run.record
    valid = run.usable(include_invalid)
    rows = summarise(run) if valid else None
    return Reading(
        path=run.path,
        started=record.started,
        reasons=[] if valid else list(record.verdict.reasons),
        problems=run.problems,
        scenario=flat(record.scenario),
        identity=identity(record),
        state=record.where.state,
        line_ns=record.where.line_ns,
        builds=record.builds,
        question=record.question or "",
        accounting=record.accounting or "",
        emulated=record.emulated,
        modes=_modes(run),
        values=dict(values_of(run, rows)) if rows else {},
        not_forwarded={row.workload: _share_not_forwarded(row) for row in rows.workloads} if rows else {},
        relaxed=record.relaxed,
        unframed=any("unframed" in e.port.traits for engine in record.engines for e in engine.plan.endpoints),
        included=list(record.verdict.reasons) if valid else [],
        title=record.title,
        labels=record.labels,
        command=shlex.join(record.observed.command) if record.observed else None,
        unsettled=_unsettled(run),
        finished=record.finished,
        excluded=frozenset(_excluded(run)) if valid else frozenset(),
        beyond=frozenset(_beyond(rows)) if rows else frozenset(),
    )


def windows(path: Path) -> list[dict[MetricKey, float | None]]:
    """The metrics of each measured window of a run."""
    run = load(path)
    by_index: dict[int, dict[str, list[Window]]] = {}
    for engine, engine_windows in run.windows.items():
        for window in measured(engine_windows):
            by_index.setdefault(window.index, {name: [] for name in run.windows})[engine].append(window)
    parts = [replace(run, windows=engine_windows) for _, engine_windows in sorted(by_index.items())]
    return [dict(values_of(part, summarise(part))) for part in parts]


def in_common(a: Reading, b: Reading) -> tuple[Reading, Reading]:
    """Two valid runs that alternated by windows, with the metrics of those windows alone that are excluded in neither. What the host does to
    one of two neighbouring windows it often does to the other, and metrics of unlike times differ by it. As they are: runs that did not
    alternate so, or that have no window in common."""
    either = a.excluded | b.excluded
    if a.excluded == b.excluded or not _alternated(a, b):
        return a, b
    runs = [_without(load(reading.path), either) for reading in (a, b)]
    if not all(map(_windows_counted, runs)):
        return a, b
    of_a, of_b = (
        replace(
            reading,
            values=dict(values_of(run, rows)),
            beyond=frozenset(_beyond(rows)),
            not_forwarded={row.workload: _share_not_forwarded(row) for row in rows.workloads},
        )
        for reading, run in zip((a, b), runs, strict=True)
        for rows in [summarise(run)]
    )
    return of_a, of_b


def _alternated(a: Reading, b: Reading) -> bool:
    """Whether they were up at the same time."""
    if not (a.started and a.finished and b.started and b.finished):
        return False
    return a.started < b.finished and b.started < a.finished


def _without(run: Run, places: Collection[int]) -> Run:
    """The run without the measured windows at these places."""

    def kept(windows: Sequence[Window]) -> list[Window]:
        out = {window.index for place, window in enumerate(measured(windows)) if place in places}
        return [window for window in windows if window.index not in out]

    return replace(run, windows={name: kept(engine_windows) for name, engine_windows in run.windows.items()})


def _excluded(run: Run) -> Iterator[int]:
    for name, windows in run.windows.items():
        counted = {window.index for window in measured(run.counted[name])}
        yield from (place for place, window in enumerate(measured(windows)) if window.index not in counted)


def _windows_counted(run: Run) -> int:
    """The number of windows that count, of all engines."""
    return sum(len(measured(windows)) for windows in run.counted.values())


def values_of(run: Run, summary: Summary) -> Iterator[tuple[MetricKey, float | None]]:
    """Values of the workloads as the client saw them, of the server's port if there is no client, and of every stage."""
    for row in summary.workloads:
        for name, entry in WORKLOAD.items():
            yield (row.workload, name), _finite(entry.of(row))
    if not summary.workloads:
        for name in _served(run):
            ports = [port for port in summary.ports if run.record.observed or port.endpoint == "server"]
            rate = sum(port.rx_mpps or 0 for port in ports) * 1e6
            yield (name, "received_per_s"), _finite(rate)
    for stage in summary.stages:
        for cost, entry in COSTS.items():
            yield ("", f"{stage.endpoint}.{stage.stage}.{cost}"), _finite(entry.of(stage))


def deciding(workload: str, *sides: Sequence[Reading]) -> tuple[str, str]:
    """The metric by which valid runs with this workload are judged, and why this one. The sentence calls the sides A, B, ..."""
    match sides[0][0].modes[workload]:
        case "without a client":
            return "received_per_s", "there is no client"
        case "closed":
            return "responses_per_s", "closed loop"
    shares_missing = [
        f"{name} {share:.0%}"
        for name, side in zip("AB", sides, strict=False)
        if (share := median(reading.not_forwarded.get(workload, 0.0) for reading in side)) > MAX_NOT_FORWARDED
    ]
    if shares_missing:
        return "responses_per_s", f"the offered load was not reached: lost or unsent, {', '.join(shares_missing)}"
    return "p99", "open loop"


def better(metric: str) -> Better:
    """The better direction that the registry names; packets that a server received are like responses."""
    entry = WORKLOAD.get(metric) or COSTS.get(metric.rpartition(".")[2])
    return (entry.better if entry else None) or "higher"


def _beyond(rows: Summary) -> Iterator[MetricKey]:
    for row in rows.workloads:
        for name in LATENCIES:
            if (
                row.responses
                and WORKLOAD[name].of(row) is None
                and enough(row.responses + row.lost, float(name[1:]) / 100)
            ):
                yield row.workload, name


def _unsettled(run: Run) -> bool | None:
    validity = run.record.validity
    levels = ([validity.settled] if validity.settled else validity.settled_phases) if validity else []
    return any(not level.settled for level in levels) if levels else None


def _modes(run: Run) -> dict[str, str]:
    workloads = {w.name: w.load for engine in run.record.engines for w in engine.plan.workloads if w.load}
    if workloads:
        return {name: load.mode for name, load in workloads.items()}
    return dict.fromkeys(_served(run), "without a client")


def _served(run: Run) -> list[str]:
    """What the port of a run without a client serves, as one name: several workloads share it, and none has metrics of its own. Of a program
    that was observed it is all that its ports received."""
    if run.record.observed:
        return [run.record.observed.program]
    names = [workload.name for engine in run.record.engines[:1] for workload in engine.plan.workloads]
    return names if len(names) == 1 else [" + ".join(names)] if names else []


def _share_not_forwarded(row: WorkloadRow) -> float:
    return ratio(row.lost + row.unsent, row.offered) or 0.0


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(value)
