"""The page of the tables, docs/reference/export.md, as Markdown."""

from collections.abc import Iterator

from windtunnel.exchange.tables.shape import BUCKETS, HISTOGRAMS, Table, tables

HEAD = """\
# Export tables

<!-- Generated from src/windtunnel/exchange/tables by `python -m windtunnel.schemas`. -->

The tables and columns that [`windtunnel export`](../how-to/export.md) writes, and what other readers need to know.

## For other readers

- **HdrHistogram**: every run directory has `latency.hlog`, a log of V2 histograms (format 1.3) that HistogramLogAnalyzer and `hdrh` read: one
  histogram for each measured window and workload, in nanoseconds. HdrHistogram's *tag* is the workload's name. Windows that are excluded from the metrics have
  tags that end in `-excluded`. Name the tag: HistogramLogProcessor fails without one (`java -cp HdrHistogram.jar org.HdrHistogram.HistogramLogProcessor -i latency.hlog -tag l_app`),
  and a program that reads every tag counts excluded windows too. With Python's `hdrhistogram`:

  ```python
  from hdrh.histogram import HdrHistogram
  from hdrh.log import HistogramLogReader

  counted = HdrHistogram(1, 60_000_000_000, 3)
  log = HistogramLogReader("latency.hlog", counted)
  while (window := log.get_next_interval_histogram()) is not None:
      if window.get_tag() == "l_app":
          counted.add(window)
  print(counted.get_value_at_percentile(99), "ns")
  ```

- **JSON Schema**: `schemas/run.json` (a run's record), `schemas/windows.json` (a line of `windows.jsonl`), `schemas/comparison.json`, `schemas/diagnosis.json`, `schemas/scenario.json`; for the
  engine `schemas/plan.json` and `schemas/lines.json`.

## Units

`_ns` are nanoseconds since the engine's start or a length of time, `_cycles` and `_ticks` ticks of the TSC (`tsc_hz` in `run.json`, under the engine's `hello`), `_bytes` bytes,
everything else counts within the window. Histograms of latencies and of pacing are in nanoseconds, those of stages in ticks. What was not measured
is null, never 0. In CSV an empty text is in quotes, and a null is nothing at all. Excluded windows are here too: `validity.excluded` in
`run.json` names them.

## Tables

Keys come first. A row of `bursts`, `histograms` or `buckets` belongs to the row of `stages` or `workloads` with the same `engine`, `window` and `row`.
"""

ABOUT = {
    "windows": "One row for each window of an engine.",
    "stages": "One row for each instance of a stage.",
    "bursts": "Objects per call of a stage, and the number of calls.",
    "drops": "Packets that a stage dropped, by reason.",
    "workers": "One row for each worker.",
    "ports": "One row for each port.",
    "workloads": "One row for each workload, as the client sees it.",
    "rings": "Entries in use at the end of the window.",
    "pools": "Free mbufs at the end of the window.",
    HISTOGRAMS: "One row for each histogram that exists.",
    BUCKETS: "One row for each bucket that is not empty.",
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
