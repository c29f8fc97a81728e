"""Metrics of workloads as the client sees them, and of the phases of their load."""

from dataclasses import replace

from windtunnel.runs.registry.metric import Metric, TableColumn
from windtunnel.runs.registry.percentiles import PERCENTILES, Percentile

LATENCY = "one time stamp per burst, from the chained clock: at most the time of one burst. Percentiles within 0.1% of the value (HdrHistogram of 3 digits), the maximum exact"
# What the percentiles and the maximum of each kind have in common.
_LATENCY = Metric(
    noun="workload",
    name="latency",
    unit="ns",
    formula="response − **intended** send time",
    error=LATENCY,
    form="duration",
    better="lower",
    family="latency",
)
_LATENCY_SENT = Metric(
    noun="workload",
    name="latency_sent",
    unit="ns",
    formula="response − real send time",
    error="as latency. What the client sent late is not in it; in a closed loop both are the same",
    form="duration",
    better="lower",
    family="latency from the real send time",
    open_loop=True,
)
_PACING = Metric(
    noun="workload",
    name="pacing",
    unit="ns",
    formula="real − intended send time, of every message sent",
    error="the real one is that of the call of `app_tx`",
    form="duration",
    better="lower",
    family="pacing",
    open_loop=True,
)


def _latency(percentile: Percentile) -> Metric:
    name = percentile.name if percentile.in_tables else None
    return replace(
        _LATENCY,
        name=f"latency.{percentile.field}",
        table=TableColumn(name, spare=percentile.spare, width=6) if name else None,
        side_by_side=name,
        column=percentile.field,
        compared=percentile.name if percentile.decides else None,
    )


_FROM_SEND = {"p50": TableColumn("p50 from send", spare=9), "p99": TableColumn("p99 from send", spare=3)}


def _latency_sent(percentile: Percentile) -> Metric:
    return replace(
        _LATENCY_SENT,
        name=f"latency_sent.{percentile.field}",
        table=_FROM_SEND.get(percentile.field),
        column=f"sent_{percentile.field}",
    )


def _pacing(percentile: Percentile) -> Metric:
    return replace(
        _PACING,
        name=f"pacing.{percentile.field}",
        table=TableColumn("pacing p99", spare=2) if percentile.field == "p99" else None,
    )


WORKLOADS = (
    Metric(
        noun="workload",
        name="responses_per_s",
        unit="/s",
        formula="responses within the timeout / time of the windows",
        error="exact",
        form="rate",
        better="higher",
        table=TableColumn("responses", width=8),
        side_by_side="responses",
        compared="responses_per_s",
    ),
    Metric(
        noun="workload",
        name="offered_per_s",
        unit="/s",
        formula="messages that fell due / time of the windows",
        error="closed loop: a message falls due when fewer are in flight than the in-flight limit. Open loop: when its arrival time has come",
        form="rate",
        better="higher",
        table=TableColumn("offered", spare=3, width=8),
    ),
    *map(_latency, PERCENTILES),
    replace(
        _LATENCY,
        name="latency.maximum",
        table=TableColumn("max", spare=1, width=6),
        side_by_side="max",
        column="max",
    ),
    *map(_latency_sent, PERCENTILES),
    replace(_LATENCY_SENT, name="latency_sent.maximum", column="sent_max"),
    *map(_pacing, PERCENTILES),
    replace(_PACING, name="pacing.maximum"),
    Metric(
        noun="workload",
        name="offered",
        unit="messages",
        formula="messages that fell due",
        error="exact",
        form="count",
        better="higher",
        column="offered",
    ),
    Metric(
        noun="workload",
        name="sent",
        unit="messages",
        formula="messages sent",
        error="exact",
        form="count",
        better="higher",
    ),
    Metric(
        noun="workload",
        name="responses",
        unit="messages",
        formula="responses within the timeout",
        error="exact",
        form="count",
        better="higher",
        column="responses",
    ),
    Metric(
        noun="workload",
        name="lost",
        unit="messages",
        formula="no response within `timeout`",
        error="exact; a lost message no longer counts as in flight",
        form="count",
        better="lower",
        tone="loss",
        table=TableColumn("lost"),
        side_by_side="lost",
        column="lost",
    ),
    Metric(
        noun="workload",
        name="late",
        unit="responses",
        formula="responses after the timeout",
        error="exact: distinguished from duplicates by the generation of the slot",
        form="count",
        better="lower",
        tone="loss",
        table=TableColumn("late", spare=4),
        column="late",
    ),
    Metric(
        noun="workload",
        name="unsent",
        unit="messages",
        formula="due and still waiting at the end of the last measured window",
        error="exact; open loop",
        form="count",
        better="lower",
        table=TableColumn("unsent", spare=2),
        column="unsent",
    ),
    Metric(
        noun="workload",
        name="duplicates",
        unit="responses",
        formula="responses to a message that already had one",
        error="exact: by the generation of the slot",
        form="count",
        better="lower",
        table=TableColumn("duplicates", spare=7),
    ),
    Metric(
        noun="workload",
        name="negative_latency",
        unit="responses",
        formula="stamp of the response before the stamp of its request",
        error="exact; another worker took the stamp of the request. Their latency is recorded as 0",
        form="count",
        better="lower",
    ),
    Metric(
        noun="workload",
        name="in_flight",
        unit="messages",
        formula="in flight at the end of the last measured window",
        error="exact if app_tx and app_rx share a worker, else by what is sent or responded to between the ends of the window on their "
        "workers; never below 0",
        form="count",
    ),
)

PHASES = (
    Metric(
        noun="phase",
        name="measured_s",
        unit="s",
        formula="measured time that belongs to the phase",
        error="the load begins when the client may send. If a peer is looked up first, that moment is known within a window, and "
        "a window that may lie in two phases is left out",
        form="number",
    ),
    Metric(
        noun="phase",
        name="counted_s",
        unit="s",
        formula="length of the windows that lie wholly in it",
        error="windows end some tens of µs late: at most 1/1000 of a window lies beyond a boundary",
        form="number",
    ),
    Metric(
        noun="phase",
        name="left_out",
        unit="share",
        formula="1 − counted / measured time",
        error="windows across a boundary; a phase without a whole window has no values",
        form="percent",
    ),
)
