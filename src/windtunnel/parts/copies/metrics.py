"""Metrics of copies of payload."""

from windtunnel.parts.copies.rows import NOUN
from windtunnel.runs.registry.metric import Metric, TableColumn

_CYCLES = (
    "TSC cycles of timed calls, time stamps included, without calls that only found unfinished copies: they are stall"
)
_FREED = (
    "the cost of the CPU's copies is measured before the run: the median of 31 batches of rte_memcpy, from the source (responses: from "
    "other memory, in the caches) to as many mbufs as the run uses, in random order, for sizes of 64 bytes to the largest, with linear "
    "interpolation between them (run.json: engines.result.copies.cpu_copies). If the run keeps the caches colder, the true value is larger. "
    "The later cost to read bytes that another core wrote is not included. Negative: the copier costs more than it frees. Null if copies end "
    "with their submit, or nothing was measured"
)
_COMPLETION = "from the submit to the poll that found the end, within 6.25%. Null if copies end with their submit"

TITLE = "Copies of payload"
"""Of the noun in the reference."""
METRICS = (
    Metric(
        noun=NOUN,
        name="gbps",
        unit="Gbit/s",
        formula="8 × bytes of bodies / time of the windows",
        error="exact; copies by the CPU and bodies that are not copied are included",
        form="gbps",
        better="higher",
        table=TableColumn("Gbit/s"),
        column="copies_gbps",
    ),
    Metric(
        noun=NOUN,
        name="share",
        unit="share",
        formula="cycles of submit, poll and copy by CPU / cycles of the timed loops of the workers that run the stage, app_tx for requests and app_rx for responses",
        error=f"{_CYCLES}. The time of a copier's own thread or engine is not included",
        form="percent",
        better="lower",
        table=TableColumn("of the core"),
        column="copies_share",
    ),
    Metric(
        noun=NOUN,
        name="most_gain",
        unit="x",
        formula="1 / (1 − share): the throughput of the core if copies cost it nothing, by the throughput as measured (Amdahl's law)",
        error="of an engine that is fast enough; a slower one bounds the throughput by its own rate",
        form="number",
        table=TableColumn("most gain", spare=9),
        column="copies_most_gain",
    ),
    Metric(
        noun=NOUN,
        name="submit_cycles",
        unit="cycles",
        formula="cycles of submits / copies that the copier took",
        error=f"{_CYCLES}. If a copier ends copies with their submit, their cost is included",
        form="number",
        better="lower",
        table=TableColumn("submit cycles", spare=1),
        column="copies_submit_cycles",
    ),
    Metric(
        noun=NOUN,
        name="poll_cycles",
        unit="cycles",
        formula="cycles of polls / copies that had ended",
        error=f"{_CYCLES}. Other polls that found no finished copy are included",
        form="number",
        better="lower",
        table=TableColumn("poll cycles", spare=1),
        column="copies_poll_cycles",
    ),
    Metric(
        noun=NOUN,
        name="by_cpu_cycles",
        unit="cycles",
        formula="cycles of copies by the CPU in the copier's place / these copies",
        error=_CYCLES,
        form="number",
        better="lower",
        table=TableColumn("CPU copy cycles", spare=9),
    ),
    Metric(
        noun=NOUN,
        name="freed_cycles",
        unit="cycles",
        formula="mean cycles of copies by the CPU of the same sizes × copies that ended well / copies that ended − submit_cycles − poll_cycles",
        error=_FREED,
        form="number",
        better="higher",
        table=TableColumn("freed cycles", spare=1),
        column="copies_freed_cycles",
    ),
    Metric(
        noun=NOUN,
        name="freed_share",
        unit="share",
        formula="freed_cycles × copies that ended in timed calls / cycles of the timed loops of the workers that run the stage",
        error="as of freed_cycles. By the cycles that the core has: above 100% if the CPU's copies would want more than one core",
        form="percent",
        better="higher",
        table=TableColumn("core freed"),
        column="copies_freed_share",
    ),
    Metric(
        noun=NOUN,
        name="p50",
        unit="ns",
        formula="50th percentile of the time that a copy takes",
        error=_COMPLETION,
        form="duration",
        better="lower",
        family="time of a copy",
        table=TableColumn("p50", spare=2),
        column="copies_p50",
    ),
    Metric(
        noun=NOUN,
        name="p99",
        unit="ns",
        formula="99th percentile of the time that a copy takes",
        error=_COMPLETION,
        form="duration",
        better="lower",
        family="time of a copy",
        table=TableColumn("p99", spare=2),
        column="copies_p99",
    ),
    Metric(
        noun=NOUN,
        name="copies",
        unit="copies",
        formula="copies that the copier made",
        error="exact",
        form="count",
        table=TableColumn("copies", spare=3),
        column="copies",
    ),
    Metric(
        noun=NOUN,
        name="copies_by_cpu",
        unit="copies",
        formula="copies that the CPU made in the copier's place",
        error="exact; by reason: small, no_room, failed, gave_up",
        form="count",
        table=TableColumn("by CPU"),
        column="copies_by_cpu",
    ),
    Metric(
        noun=NOUN,
        name="uncopied",
        unit="bodies",
        formula="bodies that left as a part of the source",
        error="exact",
        form="count",
        table=TableColumn("not copied", spare=9),
        column="uncopied",
    ),
)
