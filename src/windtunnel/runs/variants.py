"""Results by variant of a run that changes between windows.

The first variant is the scenario as it is: the metrics and the validity of the run are of its windows alone. Windows in which a change
settles are in no row. Every variant's windows are excluded by the same rules, among themselves (`windtunnel.measure.validity`).
"""

from collections.abc import Sequence
from statistics import median

from windtunnel.engine.plan import Variants
from windtunnel.engine.windows import Window
from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.metrics import VARIED, measured, ratio, seconds
from windtunnel.runs.reader import Run
from windtunnel.runs.rows import Middle, VariantRow
from windtunnel.stats.median import interval


def variant_rows(run: Run) -> list[VariantRow]:
    """A row for each variant, the first one first; none if the run has no variants."""
    marks = run.record.validity.excluded if run.record.validity else []
    return [
        row
        for engine in run.record.engines
        if engine.plan.variants and engine.hello
        for row in rows(
            engine.plan.variants,
            run.windows[engine.name],
            {mark.window for mark in marks if mark.engine == engine.name},
            engine.hello.tsc_hz,
        )
    ]


def rows(variants: Variants, windows: Sequence[Window], excluded: set[int], tsc_hz: int) -> list[VariantRow]:
    """The variants' rows from the windows of one engine, without those whose index is `excluded`."""
    of_variant: dict[int | None, list[Window]] = {}
    for window in measured(windows, VARIED):
        of_variant.setdefault(window.variant, []).append(window)
    return [
        _row(variant.name, of_variant.get(number, []), excluded, tsc_hz)
        for number, variant in enumerate(variants.variants)
    ]


def _row(name: str, finished: Sequence[Window], excluded: set[int], tsc_hz: int) -> VariantRow:
    kept = [window for window in finished if window.index not in excluded]
    costs = [cost for window in kept if (cost := ratio(seconds([window]) * 1e9, messages(window))) is not None]
    latency = merge(workload.latency for window in kept for workload in window.workloads)
    lost = sum(workload.lost for window in kept for workload in window.workloads)
    return VariantRow(
        name=name,
        measured=len(finished),
        windows=len(kept),
        ns_per_message=Middle(median(costs), *interval(costs)) if costs else None,
        responses_per_s=ratio(sum(map(responses, kept)), seconds(kept)),
        delay_ns=ratio(sum(map(delay_cycles, kept)) * 1e9 / tsc_hz, sum(map(messages, kept))),
        p50=percentile(latency, 50, lost),
        p99=percentile(latency, 99, lost),
    )


def messages(window: Window) -> int:
    """Responses that the client got; without a client, packets that came in."""
    return responses(window) if window.workloads else sum(port.rx_packets for port in window.ports)


def messages_of(windows: Sequence[Window]) -> int:
    """Of all engines of a run: what came in at a server counts only if no client is there to count responses."""
    has_client = any(window.workloads for window in windows)
    return sum(messages(window) for window in windows if window.workloads or not has_client)


def responses(window: Window) -> int:
    return sum(workload.responses for workload in window.workloads)


def delay_cycles(window: Window) -> int:
    return sum(stage.delay_cycles or 0 for stage in window.stages)
