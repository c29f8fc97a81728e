"""Metrics of workers, ports, endpoints, and of rings and pools."""

from windtunnel.runs.registry.metric import Metric, TableColumn

_PARTS = "of the cycles of its timed stage calls: the five add up to one, the loop around the stages is not in them"


def _share(name: str, counted: str, head: str, spare: int = 0) -> Metric:
    return Metric(
        noun="worker",
        name=f"{name}_share",
        unit="share",
        formula=f"({counted}) / cycles of its timed stage calls",
        error=_PARTS,
        form="percent",
        table=TableColumn(head, spare=spare),
    )


WORKERS = (
    _share("work", "busy − stall", "work"),
    _share("stall", "stall", "stall"),
    _share("idle", "idle", "idle"),
    _share("interrupted", "interrupted cycles", "interrupted"),
    _share("traffic", "cycles of steps that make a handler's own traffic", "own traffic", spare=1),
    Metric(
        noun="worker",
        name="preempted_share",
        unit="share",
        formula="run delay / time of the windows",
        error="`/proc/self/task/<tid>/schedstat`: time in which the worker was runnable and not running. Steal time is not in it. "
        "Null if the kernel does not count it",
        form="percent",
        better="lower",
        table=TableColumn("preempted", spare=1),
    ),
    Metric(
        noun="worker",
        name="mloops",
        unit="Mloops/s",
        formula="loops / time of the windows",
        error="exact",
        form="mpps",
        table=TableColumn("Mloops/s", spare=2),
    ),
)


def _rate(way: str) -> Metric:
    return Metric(
        noun="port",
        name=f"{way}_mpps",
        unit="Mpps",
        formula="packets / time of the windows",
        error="counted around the burst calls",
        form="mpps",
        better="higher",
        table=TableColumn(f"{way} Mpps"),
    )


def _bits(way: str) -> Metric:
    return Metric(
        noun="port",
        name=f"{way}_gbps",
        unit="Gbit/s",
        formula="8 × bytes / time of the windows",
        error="bytes of mbufs, counted when a stage reads the length anyway. Ethernet adds 4 bytes per packet (FCS), a link 20 more "
        "(preamble and gap)",
        form="gbps",
        better="higher",
        table=TableColumn(f"{way} Gbit/s", spare=1),
    )


def _packets(way: str) -> Metric:
    return Metric(
        noun="port",
        name=f"{way}_packets",
        unit="packets",
        formula="as counted",
        error="exact",
        form="count",
        better="higher",
        table=TableColumn(f"{way} packets", spare=3),
    )


def _burst(way: str) -> Metric:
    return Metric(
        noun="port",
        name=f"{way}_burst",
        unit="packets",
        formula="packets / calls that moved some",
        error="exact",
        form="number",
        better="higher",
        table=TableColumn(f"{way} burst", spare=2),
    )


WAYS = ("rx", "tx")
PORTS = (
    *map(_rate, WAYS),
    *map(_bits, WAYS),
    *map(_packets, WAYS),
    *map(_burst, WAYS),
    Metric(
        noun="port",
        name="tx_packets_per_doorbell",
        unit="packets",
        formula="packets sent / doorbells",
        error="null if the driver has no doorbell, or if it is not known when it rings",
        form="number",
        better="higher",
        table=TableColumn("packets per doorbell", spare=9),
    ),
)

LEVELS = (
    Metric(
        noun="level",
        name="lowest",
        unit="entries, mbufs",
        formula="least of the values at the ends of windows",
        error="read once at the end of each window: lower and higher values are possible in between",
        form="count",
        table=TableColumn("lowest"),
    ),
    Metric(
        noun="level",
        name="highest",
        unit="entries, mbufs",
        formula="greatest of the values at the ends of windows",
        error="read once at the end of each window: lower and higher values are possible in between",
        form="count",
        table=TableColumn("highest"),
    ),
    Metric(
        noun="level",
        name="size",
        unit="entries, mbufs",
        formula="capacity of the ring or the pool",
        error="exact",
        form="count",
        table=TableColumn("size"),
    ),
)

ENDPOINTS = (
    Metric(
        noun="endpoint",
        name="rx_mpps",
        unit="Mpps",
        formula="packets received / time of the windows",
        error="as of its port",
        form="mpps",
        better="higher",
        column="rx_mpps",
    ),
    Metric(
        noun="endpoint",
        name="tx_mpps",
        unit="Mpps",
        formula="packets sent / time of the windows",
        error="as of its port",
        form="mpps",
        better="higher",
        column="tx_mpps",
    ),
    Metric(
        noun="endpoint",
        name="packet_ns",
        unit="ns/packet",
        formula="sum of work and stall over its stages, without reading the clock for steps",
        error="of a packet that passes each stage once; null as soon as one of them was not timed, and with a stream, whose applications count writes and reads",
        form="number",
        better="lower",
        column="packet_ns",
    ),
    Metric(
        noun="endpoint",
        name="derived_mpps",
        unit="Mpps",
        formula="workers × 1000 / packet_ns",
        error="derived, not measured: what its workers could pass if they did nothing else. Null if they do, or do not all run "
        "the same stages",
        form="mpps",
        better="higher",
        column="derived_mpps",
    ),
    Metric(
        noun="endpoint",
        name="idle",
        unit="share",
        formula="idle share of its worker that has the least",
        error="as of the worker",
        form="percent",
        better="higher",
        column="idle",
    ),
    Metric(
        noun="endpoint",
        name="preempted",
        unit="share",
        formula="preempted share of its worker that has the most",
        error="as of the worker",
        form="percent",
        better="lower",
        column="preempted",
    ),
)
