"""The page of all metrics and counters, docs/reference/counters.md, as Markdown."""

from collections.abc import Iterator
from itertools import groupby

from windtunnel.runs.registry import COUNTERS, Metric, Noun, metrics

HEAD = """\
# All metrics and counters

<!-- Generated from src/windtunnel/runs/registry and src/windtunnel/engine/windows.py by `python -m windtunnel.schemas`. -->

Each metric with its unit, its formula, how it is measured, and its error. The rules for all of them, accounting levels and validity checks: [Metrics and validity](metrics.md).
Each value is in `windtunnel show --json`. *Better* says which way `study` and `compare` read a change. A study's column of a stage or of an endpoint has its name in front, as in
`server_app_rx_work_ns`.
"""

NOUNS: dict[Noun, str] = {
    "stage": "Of a stage",
    "step": "Of a step of a handler",
    "counter": "Of a handler's own counters",
    "worker": "Of a worker",
    "workload": "Of a workload",
    "phase": "Of a phase of the load",
    "copies": "Of copies of payload",
    "stream": "Of TCP streams",
    "port": "Of a port",
    "level": "Of rings and pools",
    "endpoint": "Of an endpoint, in a study",
}
COUNTED = """
## Counters

What a window counts, as `windows.jsonl` has it. The sums of a stage's are in `counters` of `--json`. In OpenMetrics each is a counter named `windtunnel_<name>_total`;
cycles and ns are seconds there. The counters in DPDK's telemetry are marked in `engine/core/counters.h`.

| of | counter | unit | OpenMetrics | meaning |
|---|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(_of_noun(noun, title) for noun, title in NOUNS.items()) + COUNTED + "".join(_counters())


def _of_noun(noun: Noun, title: str) -> str:
    rows = "".join(_row(list(group)) for _, group in groupby(metrics(noun), lambda of: of.family or of.name))
    head = "| metric | unit | formula | how it is measured, and its error | better | study column | in `compare` |\n"
    return f"\n## {title}\n\n{head}|---|---|---|---|---|---|---|\n{rows}"


def _row(of: list[Metric]) -> str:
    """Those of a family stand in one row."""
    first = of[0]
    columns, compared = (
        ", ".join(f"`{name}`" for name in names if name) for names in zip(*((m.column, m.compared) for m in of))
    )
    names = ", ".join(f"`{each.name}`" for each in of)
    cells = (names, first.unit, first.formula, first.error, first.better or "", columns, compared)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _counters() -> Iterator[str]:
    for noun, counters in COUNTERS.items():
        for each in counters:
            yield f"| {noun} | `{each.name}` | {each.unit} | `{noun}_{each.openmetrics}` | {each.help} |\n"
