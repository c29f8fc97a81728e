"""Metrics of workloads as the client sees them, and of the phases of their load."""

from windtunnel.runs.registry.metric import Metric, Shown

LATENCY = "one time stamp per burst, from the chained clock: at most the time of one burst. Percentiles within 0.1% of the value (HdrHistogram of 3 digits), the maximum exact"
PARTS = (
    ("p50", "p50"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p999", "p99.9"),
    ("p9999", "p99.99"),
    ("p99999", "p99.999"),
    ("p999999", "p99.9999"),
    ("maximum", "max"),
)
"""Field of a percentile in a row, and its name for people."""
_SPARE = {"p90": 6, "p999": 5, "maximum": 1}
_IN_TABLES = ("p50", "p90", "p99", "p999", "maximum")
_COMPARED = ("p50", "p90", "p99", "p999")


def _column(part: str) -> str:
    return "max" if part == "maximum" else part


def _latency(part: str, name: str) -> Metric:
    return Metric(
        noun="workload",
        name=f"latency.{part}",
        unit="ns",
        formula="response − **intended** send time",
        error=LATENCY,
        form="duration",
        better="lower",
        family="latency",
        terminal=Shown(name, spare=_SPARE.get(part, 0), width=6) if part in _IN_TABLES else None,
        side_by_side=name if part in _IN_TABLES else None,
        report=name[:1].upper() + name[1:] if part == "maximum" else name if part in _IN_TABLES else None,
        column=_column(part),
        compared=name if part in _COMPARED else None,
    )


def _latency_sent(part: str, name: str) -> Metric:
    return Metric(
        noun="workload",
        name=f"latency_sent.{part}",
        unit="ns",
        formula="response − real send time",
        error="as latency. What the client sent late is not in it; in a closed loop both are the same",
        form="duration",
        better="lower",
        family="latency from the real send time",
        terminal=Shown("p99 from send", spare=3) if part == "p99" else None,
        report=f"{name} from send" if part in ("p50", "p99") else None,
        column=f"sent_{_column(part)}",
        open_loop=True,
    )


def _pacing(part: str, name: str) -> Metric:
    return Metric(
        noun="workload",
        name=f"pacing.{part}",
        unit="ns",
        formula="real − intended send time, of every message sent",
        error="the real one is that of the call of `app_tx`",
        form="duration",
        better="lower",
        family="pacing",
        open_loop=True,
        terminal=Shown("pacing p99", spare=2) if part == "p99" else None,
        report="Pacing p99" if part == "p99" else None,
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
        terminal=Shown("responses", width=8),
        side_by_side="responses",
        report="Responses",
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
        terminal=Shown("offered", spare=3, width=8),
        report="Offered",
    ),
    *(_latency(part, name) for part, name in PARTS),
    *(_latency_sent(part, name) for part, name in PARTS),
    *(_pacing(part, name) for part, name in PARTS),
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
        terminal=Shown("lost"),
        side_by_side="lost",
        report="Lost",
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
        terminal=Shown("late", spare=4),
        report="Late",
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
        terminal=Shown("unsent", spare=2),
        report="Unsent",
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
        terminal=Shown("duplicates", spare=7),
        report="Duplicates",
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
