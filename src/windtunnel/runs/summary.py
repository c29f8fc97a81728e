"""All rows of a run, whatever the number of its engines, and the document that `--json` prints."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from windtunnel.engine.lines import Hello
from windtunnel.engine.windows import Window
from windtunnel.runs import metrics, steps
from windtunnel.runs.copies import copy_rows
from windtunnel.runs.phases import phase_rows
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import (
    CopyRow,
    HandlerCounterRow,
    LevelRow,
    PhaseRow,
    PortRow,
    Row,
    StageRow,
    StepRow,
    StreamRow,
    VariantRow,
    WorkerRow,
    WorkloadRow,
)
from windtunnel.runs.streams import stream_rows
from windtunnel.runs.validity import Validity, windows_of
from windtunnel.runs.variants import variant_rows

CROWDED_SHARE = 0.05
"""Share of a worker's time; a quiet machine stays below a hundredth."""
SLOW_WINDOW = 1.5
"""A window's median length in times of what was asked."""
NIC_LOSSES = ("miss", "error", "drop", "discard")
"""Parts of the names of drivers' loss counters; the first three are DPDK's own."""


@dataclass(frozen=True)
class Summary:
    """What a run measured, over its measured windows."""

    measured_s: float | None
    stages: list[StageRow]
    steps: list[StepRow]
    counters: list[HandlerCounterRow]
    workers: list[WorkerRow]
    ports: list[PortRow]
    workloads: list[WorkloadRow]
    phases: list[PhaseRow]
    copies: list[CopyRow]
    streams: list[StreamRow]
    variants: list[VariantRow]
    levels: list[LevelRow]

    def has_stream(self, endpoint: str) -> bool:
        """Whether its stages do not all count packets: of a stream, applications count writes and reads."""
        return any(row.endpoint == endpoint for row in self.streams)


def summarise(run: Run) -> Summary:
    """The rows of every engine, one after the other; an engine without a first line adds none."""
    if imported := run.record.imported:
        return Summary(None, imported.stages, [], [], [], imported.ports, [], [], [], [], [], [])
    counted = run.counted
    engines = [(e, e.hello, counted[e.name]) for e in run.record.engines if e.hello]

    def rows(of_engine: Callable[[EngineRecord, Hello, list[Window]], Iterable[Row]]) -> list[Row]:
        return list(chain.from_iterable(of_engine(*engine) for engine in engines))

    stages = rows(
        lambda e, hello, windows: metrics.stage_rows(
            windows, hello, call_ticks=e.ready.timed_call_ticks if e.ready else None
        )
    )
    return Summary(
        measured_s=max((metrics.seconds(metrics.measured(windows)) for _, _, windows in engines), default=0.0),
        stages=sorted(stages, key=lambda row: row.endpoint),
        steps=rows(lambda e, hello, windows: steps.step_rows(windows, hello, e.ready)),
        counters=rows(lambda _, _hello, windows: steps.counter_rows(windows)),
        workers=rows(lambda _, _hello, windows: metrics.worker_rows(windows)),
        ports=sorted(rows(lambda _, _hello, windows: metrics.port_rows(windows)), key=lambda row: row.endpoint),
        workloads=rows(lambda e, _, windows: metrics.workload_rows(windows, [w.name for w in e.plan.workloads])),
        phases=rows(lambda e, _, windows: phase_rows(run.windows[e.name], e.plan, windows)),
        copies=rows(lambda e, hello, windows: copy_rows(windows, hello, e.plan, e.result.copies if e.result else ())),
        streams=rows(lambda e, _, windows: stream_rows(windows, e.plan, e.result.streams if e.result else ())),
        variants=variant_rows(run),
        levels=rows(lambda _, _hello, windows: metrics.level_rows(windows)),
    )


def crowded(workers: Sequence[WorkerRow]) -> list[str]:
    """A warning if workers were preempted for so long that the metrics describe the host."""
    taken = [row for row in workers if (row.preempted_share or 0) > CROWDED_SHARE]
    if not taken:
        return []
    where = " and ".join(f"CPU {row.cpu} for {row.preempted_share:.0%} of the time" for row in taken)
    return [f"workers were preempted on {where}: repeat on a quieter host"]


def lost_messages(workloads: Sequence[WorkloadRow]) -> list[str]:
    """A warning for each workload whose percentiles lack messages: those without a response in time, which took the longest."""
    return [
        f"{row.workload}: {row.lost:,} lost messages ({row.lost / (row.lost + row.responses):.2%} of all) are in no percentile: "
        "with them the highest ones would be at least the timeout"
        for row in workloads
        if row.lost and row.responses
    ]


def slow_windows(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]]) -> list[str]:
    """A warning if windows lasted much longer than configured: the engine's main thread was late."""
    warnings = []
    for engine in engines:
        lasted = [window.end_ns - window.start_ns for window in metrics.measured(windows[engine.name])]
        asked = engine.plan.phases.window_ns
        if lasted and (median := statistics.median(lasted)) > SLOW_WINDOW * asked:
            warning = f"windows lasted {median / 1e6:.3g} ms instead of {asked / 1e6:.3g} ms"
            warnings.append(f"{warning}: use longer windows, or leave a core to the main thread")
    return warnings


def warnings_of(run: Run, summary: Summary) -> list[str]:
    """Warnings for the readers of the metrics."""
    engines = run.record.engines
    validity = run.record.validity
    own = [None if validity.too_few_left else excluded_words(validity), *validity.warnings] if validity else []
    return [
        *filter(None, own),
        *crowded(summary.workers),
        *lost_messages(summary.workloads),
        *lossy_nics(engines),
        *slow_windows(engines, run.windows),
    ]


def rejected_words(run: Run) -> str:
    """Says from which windows the metrics of an invalid run are, and whether anything is wrong with these windows."""
    all_of, used = windows_of(run.windows), windows_of(run.counted)
    windows = (
        f"all {all_of} measured windows" if used == all_of else f"the {used} windows of {all_of} that are not excluded"
    )
    message = f"the metrics are rejected; they are of {windows}"
    validity = run.record.validity
    if validity is None:
        return f"{message}, which were not checked"
    return message if validity.reasons else f"{message}, and no check of these windows failed"


def excluded_words(validity: Validity) -> str | None:
    """How many windows are excluded, with the first reason; None if none is."""
    if not validity.excluded:
        return None
    first, *others = validity.excluded
    because = f"window {first.window}, {first.reasons[0]}"
    return (
        f"{len(validity.excluded)} windows excluded: {because}, and others"
        if others
        else f"1 window excluded: {because}"
    )


def lossy_nics(engines: Sequence[EngineRecord]) -> list[str]:
    """A warning for every NIC that counted packets which never came to a stage, by its own names for them."""
    warnings = []
    for engine in engines:
        counters = engine.result.xstats if engine.result else None
        for side, counted in (counters or {}).items():
            lost = [f"{name} {count:,}" for name, count in counted.items() if any(word in name for word in NIC_LOSSES)]
            if lost:
                warnings.append(f"the {side}'s NIC lost packets: {', '.join(lost)}")
    return warnings
