"""The page of a study's keys and columns, docs/reference/study.md, as Markdown."""

from collections.abc import Iterator

from windtunnel.measure.study.columns import (
    COUNTS,
    EVENT_NOTES,
    LATENCIES,
    RUN,
    SIDE_COLUMNS,
    STAGE_COLUMNS,
    event_types,
)
from windtunnel.measure.study.definition import Definition
from windtunnel.schemas.scenario_page import tables

HEAD = """\
# Study keys and columns

<!-- Generated from src/windtunnel/measure/study by `python -m windtunnel.schemas`. -->

How to write and run a study: [Run a study](../how-to/study.md). This is a whole file:

```toml
# How far does a small RPC scale with the messages in flight and with the batches?
title       = "In flight and batches"
scenario    = "../scenarios/echo.toml"
repeats     = 3
constraints = ["inflight >= 2 * batch"]
metrics     = ["responses_per_s", "p99"]

[set]                                 # the same for every point, as --set
duration = "1s"

[[factor]]
key = "client.inflight"               # its column is called inflight
log = { from = 32, to = 512, points = 5 }

[[factor]]
name   = "batch"
keys   = ["client.batch.app_tx", "server.batch.app_rx"]      # both change together
values = [8, 32, 128]

[full]                                # what `windtunnel study FILE --full` changes
repeats = 5
set     = { duration = "5s" }

[[full.factor]]                       # replaces the factor inflight
key = "client.inflight"
log = { from = 32, to = 4096, points = 8 }
```

Numbers of a range may have units, as in `{ from = "64B", to = "1KiB", points = 5 }`. In the table and in constraints, a factor whose values are all quantities
is a number: bytes, ns, or messages per second. A study has at most 8 factors with 1000 values each, and 5000 points.

Two factors are refused if they change the same key, or if the key of one lies in the table of the other. A key that is in `[set]` and in a factor is refused too.
"""

FULL = """
`[full]` overrides keys of the file for `--full`. `set` is merged: its keys replace the same keys of `[set]`. A factor replaces the factor with the same column; another one is added, and a key of
`[set]` that it changes is dropped. Everything else replaces the key of the same name. A study without `[full]` refuses `--full`.
"""

DIRECTORY = """
## The directory

| in the directory | |
|---|---|
| `.seal` | which user began the study: an HMAC of `study.json`, with a key in `~/.local/state/windtunnel/key`, or below `XDG_STATE_HOME` |
| `study.json` | both files' texts, quick or full, factors, points, the order, host and versions (`schemas/study.json`) |
| `{runs}/<point>-r<repeat>/` | one run directory each; that of the second attempt ends in `-a2` |
| `aborted/` | unfinished runs |
| `results.parquet` | the table |
| `report.html` | a curve for one factor, a heat map and curves for two, small multiples for more |

Invalid runs are kept, and run again at the end of the study, up to `retries` times. Then the study repeats runs that missed the common state of the host, the one that most points share: at most
`state_repeats` times the number of all runs. The table has the last valid attempt, or the last attempt if none is valid.

## The table

The table has one row for each run and workload, in `results.parquet` and as the view `results` of `windtunnel study query`, which adds `study`, the directory's name. `NULL` is "not measured", never zero. An invalid run has
reasons and no values. If the study was run with `--include-invalid`, it has its rejected metrics, and `valid` is false.

| column | type | meaning |
|---|---|---|
"""

TAIL = """
The columns of a stage exist for every stage: `client_` and `server_`, then `app_tx disp_tx nic_tx nic_rx disp_rx app_rx` (a server has no `app_tx`). [Metrics and validity](metrics.md) has the meaning
of each value and its error.
"""


def page() -> str:
    from windtunnel.measure.study.directory import RUNS

    keys = tables(Definition).replace("## The file", "## Keys", 1)
    return HEAD + keys + FULL + DIRECTORY.format(runs=RUNS) + "".join(_rows()) + TAIL


def _rows() -> Iterator[str]:
    for name, (kind, meaning) in RUN.items():
        yield _row(f"`{name}`", kind, meaning)
        if name == "reasons":
            yield _row(
                "the factors",
                "by their values",
                "numbers if all values are numbers or quantities of one kind, else text",
            )
    for name, meaning in COUNTS.items():
        yield _row(f"`{name}`, `{name}_per_s`", "BIGINT, DOUBLE", meaning)
    for prefix, moment in (("", "intended"), ("sent_", "real")):
        names = ", ".join(f"`{prefix}{name}`" for name in LATENCIES)
        yield _row(names, "BIGINT", f"latency from the {moment} send time, ns")
    for name, (kind, meaning) in SIDE_COLUMNS.items():
        yield _row(f"`client_{name}`, `server_{name}`", kind, meaning)
    for name, (kind, meaning) in STAGE_COLUMNS.items():
        yield _row(f"`client_app_tx_{name}`, ...", kind, meaning)
    own = event_types(["LLC-load-misses"])
    yield _row(
        f"`{next(iter(own))}`, ...",
        "DOUBLE",
        "each of `counters`: a message, or a packet if no client counts; of a level the mean, bytes",
    )
    yield _row(
        f"`{EVENT_NOTES}`",
        own[EVENT_NOTES],
        "with `counters`: why an event was not counted, or what is to be known of its value",
    )


def _row(column: str, kind: str, meaning: str) -> str:
    return f"| {column} | {kind} | {meaning} |\n"
