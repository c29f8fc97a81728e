"""Every metric once: name, noun, unit, formula, error, which way is better, and where it is shown.

Tables, reports, studies, comparisons and docs/reference/counters.md are made from these entries. Raw counters are declared by the
fields of `windtunnel.engine.windows`; those with a head have an entry here by themselves.
"""

from collections.abc import Iterator
from itertools import chain

from windtunnel.engine.counted import CountedField, counters_of
from windtunnel.engine.windows import PortWindow, StageWindow, WorkerWindow, WorkloadWindow
from windtunnel.part_registry import part_modules
from windtunnel.runs.registry.machines import ENDPOINTS, LEVELS, PORTS, WORKERS
from windtunnel.runs.registry.metric import Metric, Noun, TableColumn
from windtunnel.runs.registry.stages import HANDLER_COUNTERS, STAGES, STEPS
from windtunnel.runs.registry.workloads import PHASES, WORKLOADS

COUNTERS: dict[Noun, tuple[CountedField, ...]] = {
    "stage": tuple(counters_of(StageWindow)),
    "worker": tuple(counters_of(WorkerWindow)),
    "port": tuple(counters_of(PortWindow)),
    "workload": tuple(counters_of(WorkloadWindow)),
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
_OF_SPINE: tuple[Metric, ...] = (
    *STAGES,
    *(_counted(counter) for counter in COUNTERS["stage"] if counter.head),
    *STEPS,
    *HANDLER_COUNTERS,
    *WORKERS,
    *WORKLOADS,
    *PHASES,
    *PORTS,
    *LEVELS,
    *ENDPOINTS,
)


def counters() -> dict[Noun, tuple[CountedField, ...]]:
    """What windows count, by noun: in the spine and in parts."""
    return COUNTERS | {noun: fields for part in part_modules("exposition") for noun, fields in part.COUNTED.items()}


def metrics(noun: Noun) -> Iterator[Metric]:
    """The metrics of a noun, in the order of its tables."""
    of_parts = (metric for part in part_modules("metrics") for metric in part.METRICS)
    return (metric for metric in chain(_OF_SPINE, of_parts) if metric.noun == noun)


def metric(noun: Noun, name: str) -> Metric:
    """The one of this name."""
    return next(candidate for candidate in metrics(noun) if candidate.name == name)


__all__ = ["COUNTERS", "STAGE_COUNTERS", "Metric", "Noun", "counters", "metric", "metrics"]
