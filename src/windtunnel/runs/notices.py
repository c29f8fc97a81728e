"""What a reader of a run's metrics is told about them: warnings and notes.

A warning says what to do. What needs no action is a note. Which of the two a finding is, is decided where it is made, and every view
follows: a check has the state "warning" or "note", and what no check looks at is made here.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.engine.windows import Window
from windtunnel.runs import metrics
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.runs.rows import WorkerRow, WorkloadRow
from windtunnel.runs.summary import Summary
from windtunnel.runs.validity import Validity

CROWDED_SHARE = 0.05
"""Share of a worker's time; a quiet machine stays below a hundredth."""
SLOW_WINDOW = 1.5
"""A window's median length in times of what was asked."""
NIC_LOSSES = ("miss", "error", "drop", "discard")
"""Parts of the names of drivers' loss counters; the first three are DPDK's own."""


KINDS = {
    "preempted": "preempted",
    "steal": "with steal",
    "window lasted": "stopped",
    "CPU": "on a slower CPU",
    "the link": "without a link",
    "another host state": "in another host state",
    "the host's state changed": "while the host state changed",
    "the host's state is not known": "in an unknown host state",
    "warming up": "while warming up",  # in records of version 5
}
"""What reasons of excluded windows begin with, and what such windows are called together."""


@dataclass(frozen=True)
class Notice:
    kind: Literal["warning", "note"]
    words: str


def notices(run: Run, summary: Summary) -> list[Notice]:
    """All of a run, the warnings last: in the terminal they stand next to the verdict."""
    found = [
        *_of_checks(run.record.validity),
        *crowded(summary.workers),
        *lost_messages(summary.workloads),
        *lossy_nics(run.record.engines),
        *slow_windows(run.record.engines, run.windows),
    ]
    return sorted(found, key=lambda notice: notice.kind == "warning")


def warnings_of(found: Sequence[Notice]) -> list[str]:
    return [notice.words for notice in found if notice.kind == "warning"]


def notes_of(found: Sequence[Notice]) -> list[str]:
    return [notice.words for notice in found if notice.kind == "note"]


def _of_checks(validity: Validity | None) -> Iterator[Notice]:
    if validity is None:
        return
    if validity.excluded and not validity.too_few_left:
        yield Notice("note", _excluded_words(validity))
    for check in validity.checks:
        if check.state == "warning" or check.state == "note":
            yield Notice(check.state, check.words)


def _excluded_words(validity: Validity) -> str:
    """How many windows are excluded, and by which kinds of reasons: most differ in figures alone."""
    first, *others = validity.excluded
    if not others:
        return f"1 window excluded: window {first.window}, {first.reasons[0]}"
    kinds = Counter(_kind(each.reasons[0]) for each in validity.excluded)
    parts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    which = f": {parts}" if len(kinds) > 1 else f", all {next(iter(kinds))}"
    return f"{len(validity.excluded)} windows excluded{which}; the first is window {first.window}, {first.reasons[0]}"


def _kind(reason: str) -> str:
    return next((kind for beginning, kind in KINDS.items() if reason.startswith(beginning)), "for another reason")


def crowded(workers: Sequence[WorkerRow]) -> Iterator[Notice]:
    """Workers were preempted for so long that the metrics describe the host."""
    taken = [row for row in workers if (row.preempted_share or 0) > CROWDED_SHARE]
    if taken:
        where = " and ".join(f"CPU {row.cpu} for {row.preempted_share:.0%} of the time" for row in taken)
        yield Notice("warning", f"workers were preempted on {where}: repeat on a quieter host")


def lost_messages(workloads: Sequence[WorkloadRow]) -> Iterator[Notice]:
    """Workloads that lost messages: a percentile that one of them would be is not there."""
    for row in workloads:
        if row.lost and row.responses:
            yield Notice(
                "warning",
                f"{row.workload}: {row.lost:,} messages were lost ({row.lost / (row.lost + row.responses):.2%} of all). In the percentiles "
                "they took longer than any response. State the loss together with the percentiles, or lower the load until nothing is lost",
            )


def lossy_nics(engines: Sequence[EngineRecord]) -> Iterator[Notice]:
    """NICs that counted packets which never came to a stage, by their own names for them."""
    for engine in engines:
        counters = engine.result.xstats if engine.result else None
        for side, counted in (counters or {}).items():
            lost = [f"{name} {count:,}" for name, count in counted.items() if any(word in name for word in NIC_LOSSES)]
            if lost:
                yield Notice(
                    "warning",
                    f"the {side}'s NIC lost packets: {', '.join(lost)}. Lower the load, or give the {side} more rx_descriptors or dispatchers",
                )


def slow_windows(engines: Sequence[EngineRecord], windows: Mapping[str, Sequence[Window]]) -> Iterator[Notice]:
    """Windows lasted much longer than configured: the engine's main thread was late."""
    for engine in engines:
        lasted = [window.end_ns - window.start_ns for window in metrics.measured(windows[engine.name])]
        asked = engine.plan.phases.window_ns
        if lasted and (median := statistics.median(lasted)) > SLOW_WINDOW * asked:
            found = f"windows lasted {median / 1e6:.3g} ms instead of {asked / 1e6:.3g} ms"
            yield Notice("warning", f"{found}: use longer windows, or leave a core to the main thread")
