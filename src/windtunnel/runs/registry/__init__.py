"""Every metric once: name, noun, unit, formula, error, which way is better, and where it is shown.

Tables, reports, studies, comparisons and docs/reference/counters.md are made from these entries. Raw counters are declared by the
fields of `windtunnel.engine.windows`; those with a head have an entry here by themselves.
"""

from collections.abc import Iterator

from windtunnel.engine.counted import CountedField, counters_of
from windtunnel.engine.windows import CopyWindow, PortWindow, StageWindow, WorkerWindow, WorkloadWindow
from windtunnel.runs.registry.copies import COPIES
from windtunnel.runs.registry.machines import ENDPOINTS, LEVELS, PORTS, WORKERS
from windtunnel.runs.registry.metric import Metric, Noun, TableColumn
from windtunnel.runs.registry.stages import HANDLER_COUNTERS, STAGES, STEPS
from windtunnel.runs.registry.streams import STREAMS
from windtunnel.runs.registry.workloads import PHASES, WORKLOADS

COUNTERS: dict[Noun, tuple[CountedField, ...]] = {
    "stage": tuple(counters_of(StageWindow)),
    "worker": tuple(counters_of(WorkerWindow)),
    "port": tuple(counters_of(PortWindow)),
    "workload": tuple(counters_of(WorkloadWindow)),
    "copies": tuple(counters_of(CopyWindow)),
}
"""The nouns: what windows count for."""


def _counted(counter: CountedField) -> Metric:
    return Metric(
        noun="stage",
        name=f"counters.{counter.name}",
        unit=counter.unit,
        formula="as counted",
        error=counter.help,
        form="count",
        table=TableColumn(counter.head or "", spare=8),
        column=counter.name,
    )


STAGE_COUNTERS = tuple(counter.name for counter in COUNTERS["stage"])
METRICS: tuple[Metric, ...] = (
    *STAGES,
    *(_counted(counter) for counter in COUNTERS["stage"] if counter.head),
    *STEPS,
    *HANDLER_COUNTERS,
    *WORKERS,
    *WORKLOADS,
    *PHASES,
    *COPIES,
    *STREAMS,
    *PORTS,
    *LEVELS,
    *ENDPOINTS,
)


def metrics(noun: Noun) -> Iterator[Metric]:
    """The metrics of a noun, in the order of its tables."""
    return (metric for metric in METRICS if metric.noun == noun)


def metric(noun: Noun, name: str) -> Metric:
    """The one of this name."""
    return next(candidate for candidate in metrics(noun) if candidate.name == name)


__all__ = ["COUNTERS", "METRICS", "STAGE_COUNTERS", "Metric", "Noun", "metric", "metrics"]
