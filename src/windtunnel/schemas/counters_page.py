"""The page of all metrics and counters, docs/reference/counters.md, as Markdown."""

from collections.abc import Iterator
from itertools import groupby

from windtunnel.part_registry import part_modules
from windtunnel.runs.registry import Metric, Noun, counters, metrics

HEAD = """\
# All metrics and counters

<!-- Generated from src/windtunnel/runs/registry and src/windtunnel/engine/windows.py by `python -m windtunnel.schemas`. -->

This page has each metric with its unit, its formula, how it is measured, and its error. The rules for all of them, accounting levels and validity checks: [Metrics and validity](metrics.md).
Each value is in `windtunnel show --json`. *Better* says which direction `study` and `compare` take as an improvement. In a study's table, the column of a stage or of an endpoint begins with its name, as in
`server_app_rx_work_ns`.
"""

NOUNS: dict[Noun, str] = {
    "stage": "Stages",
    "step": "Steps of a handler",
    "counter": "A handler's own counters",
    "worker": "Workers",
    "workload": "Workloads",
    "phase": "Phases of the load",
    **{part.METRICS[0].noun: part.TITLE for part in part_modules("metrics")},
    "port": "Ports",
    "level": "Rings and pools",
    "endpoint": "Endpoints in a study",
}
COUNTED = """
## Counters

These are the counters of a window in `windows.jsonl`. `counters` of `--json` has the sums of a stage's counters. In OpenMetrics each is a counter named `windtunnel_<name>_total`;
cycles and ns are seconds there. `engine/core/counters.h` marks the counters that DPDK's telemetry has.

| belongs to | counter | unit | OpenMetrics | meaning |
|---|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(_of_noun(noun, title) for noun, title in NOUNS.items()) + COUNTED + "".join(_counters())


def _of_noun(noun: Noun, title: str) -> str:
    rows = "".join(
        _row(list(group)) for _, group in groupby(metrics(noun), lambda metric: metric.family or metric.name)
    )
    head = "| metric | unit | formula | how it is measured, and its error | better | study column | in `compare` |\n"
    return f"\n## {title}\n\n{head}|---|---|---|---|---|---|---|\n{rows}"


def _row(family: list[Metric]) -> str:
    """The metrics of a family share one row."""
    first = family[0]
    columns, compared = (
        ", ".join(f"`{name}`" for name in names if name) for names in zip(*((m.column, m.compared) for m in family))
    )
    names = ", ".join(f"`{metric.name}`" for metric in family)
    cells = (names, first.unit, first.formula, first.error, first.better or "", columns, compared)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _counters() -> Iterator[str]:
    for noun, counters_of_noun in counters().items():
        for counter in counters_of_noun:
            yield f"| {noun} | `{counter.name}` | {counter.unit} | `{noun}_{counter.openmetrics}` | {counter.help} |\n"
