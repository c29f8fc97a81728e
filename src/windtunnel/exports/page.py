"""The page of the tables, docs/export.md, as Markdown."""

from collections.abc import Iterator

from windtunnel.exports.shape import BUCKETS, HISTOGRAMS, Table, tables

HEAD = """\
# Ways out

<!-- Generated from src/windtunnel/exports by `python -m windtunnel.scenario.schemas`. -->

```
windtunnel export runs/before tables                      Parquet
windtunnel export runs/before tables --format csv
windtunnel import run tables --out runs/again             the run directory again
duckdb -c "select stage, sum(objects) from 'tables/stages.parquet' group by stage"
```

An export is a new directory: `run.json` as it was, the windows as tables in long form (`csv`, `parquet`, or `json`: an object a line), the run's other files
in `files/` (logs, `latency.hlog`, `trace.json`, recordings), and `export.json`, which names tables, columns and types. Nothing is lost:
`windtunnel import run` gives a run directory whose record and windows are the same. `report.html` is left out: `windtunnel show --html` writes it from the rest.

## For other readers
- **HdrHistogram**: every run directory has `latency.hlog`, a log of V2 histograms (format 1.3) that HistogramLogAnalyzer, `hdrh` and their like read: one
  histogram for each measured window and workload, tagged with the workload's name, in nanoseconds.
- **JSON Schema**: `schemas/run.json` (a run's record), `schemas/windows.json` (a line of `windows.jsonl`), `schemas/comparison.json`, `schemas/scenario.json`; for the
  engine `schemas/plan.json` and `schemas/lines.json`.

## Units
`_ns` are nanoseconds since the engine's start or a length of time, `_cycles` and `_ticks` ticks of the TSC (`tsc_hz` in `run.json`, under the engine's `hello`), `_bytes` bytes,
everything else counts within the window. Histograms of latencies and of pacing are in nanoseconds, those of stages in ticks. What could not be
had is null, never 0; an empty text in CSV stands in quotes, a null is nothing at all. Windows that the run marked as disturbed are here too: `validity.marks` in
`run.json` names them.

## Tables
Keys first. A row of `bursts`, `histograms` or `buckets` belongs to the row of `stages` or `workloads` with the same `engine`, `window` and `row`.
"""

ABOUT = {
    "windows": "A row a window of an engine.",
    "stages": "A row an instance of a stage.",
    "bursts": "Objects that a call of a stage took, and how many calls took so many.",
    "drops": "Packets that a stage dropped, by reason.",
    "workers": "A row a worker.",
    "ports": "A row a port.",
    "workloads": "A row a workload, as the client saw it.",
    "rings": "Entries in use at the end of the window.",
    "pools": "Free mbufs at the end of the window.",
    HISTOGRAMS: "A row a histogram that is there.",
    BUCKETS: "A row a bucket that is not empty.",
}


def page() -> str:
    return HEAD + "".join(line for table in tables().values() for line in _table(table))


def _table(table: Table) -> Iterator[str]:
    yield f"\n### `{table.name}`\n\n"
    if table.name in ABOUT:
        yield f"{ABOUT[table.name]}\n\n"
    yield "| column | type | meaning |\n|---|---|---|\n"
    for column in table.all:
        kind = "VARCHAR, JSON" if column.json else column.sql
        yield f"| `{column.name}` | {kind} | {column.help.replace('|', chr(92) + '|')} |\n"
