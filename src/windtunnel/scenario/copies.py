"""Copies of payload: which copier a workload has, what it may ask of it, and the CPUs, mbufs and memory that it takes."""

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path as File

from windtunnel.engine import plan as plans
from windtunnel.engine.find import find_engine
from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES
from windtunnel.engine.query import Copier, copiers
from windtunnel.errors import UserError
from windtunnel.scenario import wires
from windtunnel.scenario.handlers import check_option
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import least_cpus, named_cpus
from windtunnel.scenario.quantities import write
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology, endpoint, request_bytes, segments
from windtunnel.scenario.traffic_keys import Copies, CopySource

_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


def known() -> dict[str, Copier]:
    """The engine's copiers by name; none where there is no engine to ask: names and options then pass as they are."""
    try:
        return _of_engine(find_engine())
    except UserError:
        return {}


@cache
def _of_engine(engine: File) -> dict[str, Copier]:
    """Asked once an engine: it takes a process."""
    return {copier.name: copier for copier in copiers(engine)}


def copied(scenario: Scenario, index: int) -> tuple[CopySource, Copies] | None:
    """What a workload copies and how; either table alone brings the other one with its defaults. None: its requests have one
    pattern."""
    workload = scenario.workload[index]
    if workload.source is None and workload.copies is None:
        return None
    return workload.source or CopySource(), workload.copies or Copies()


def check_copies(scenario: Scenario, index: int) -> None:
    """Raises Refusal for the first error."""
    both = copied(scenario, index)
    if both is None:
        return
    source, copies = both
    here: Path = ("workload", index, "copies")
    if endpoint(scenario, "client") is None:
        raise Refusal(
            here, "copies are made by the client, and this scenario has none", "a table [client], or no copies"
        )
    body = request_bytes(scenario, index) - MESSAGE_HEADER_BYTES
    if source.bytes < body:
        raise Refusal(
            ("workload", index, "source", "bytes"),
            f"a source of {write('size', source.bytes)} does not hold the body of a request, {body} bytes",
            f"at least {body}",
        )
    _copier(copies, here)
    _way(scenario, copies, here)
    if copies.verify:
        _verified(scenario, index, here)


def _copier(copies: Copies, here: Path) -> None:
    all_known = known()
    if not all_known:
        return
    if copies.engine not in all_known:
        close = difflib.get_close_matches(copies.engine, all_known, n=1)
        remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(all_known)}"
        raise Refusal((*here, "engine"), f'no copier "{copies.engine}"', remedy)
    copier = all_known[copies.engine]
    if copies.depth > copier.most_depth:
        raise Refusal(
            (*here, "depth"),
            f"{copier.name} takes {copier.most_depth} copies at once, not {copies.depth}",
            f"at most {copier.most_depth}",
        )
    for name, value in copies.options.items():
        check_option(copier.name, copier.options, name, value, (*here, "options", name))


def _way(scenario: Scenario, copies: Copies, here: Path) -> None:
    if copies.way != "zero":
        return
    if "engine" in copies.model_fields_set:
        raise Refusal((*here, "engine"), 'nothing is copied with way = "zero"', "no engine, or another way")
    if wires.has(scenario, "moves_mbufs"):
        raise Refusal(
            (*here, "way"),
            f'way = "zero" on the wire "{scenario.wire.kind}": mbufs change hands there, and the server would get the client\'s source',
            "a wire that copies or sends packets, or another way",
        )
    if scenario.wire.udp_checksum:
        raise Refusal(
            ("wire", "udp_checksum"),
            'a UDP checksum needs every byte of the body, and with way = "zero" the CPU reads none',
            "udp_checksum = false",
        )


def _verified(scenario: Scenario, index: int, here: Path) -> None:
    workload = scenario.workload[index]
    if endpoint(scenario, "server") is None:
        raise Refusal(
            (*here, "verify"),
            "the server checks the bytes, and this scenario has none",
            "a table [server], or a wire with both ends",
        )
    if workload.handler is None or workload.packet_handler is not None:
        raise Refusal(
            (*here, "verify"),
            "bytes are checked before the message handler; a packet handler could have changed them",
            "a message handler and no packet handler",
        )


def plan_source(scenario: Scenario, index: int) -> plans.Source | None:
    """In the plan's words."""
    both = copied(scenario, index)
    return plans.Source(bytes=both[0].bytes, order=both[0].order) if both else None


def plan_copies(scenario: Scenario, index: int, lcores: Sequence[int]) -> plans.Copies | None:
    """Likewise; `lcores` are those kept free for threads of copiers. Raises Refusal."""
    both = copied(scenario, index)
    if both is None:
        return None
    copies, copier = both[1], known().get(both[1].engine)
    here: Path = ("workload", index, "copies", "options")
    return plans.Copies(
        engine=copies.engine,
        options={
            name: check_option(copies.engine, copier.options if copier else None, name, value, (*here, name))
            for name, value in copies.options.items()
        },
        depth=copies.depth,
        batch=copies.batch,
        way=copies.way,
        at_least_bytes=None if isinstance(copies.at_least, str) else copies.at_least,
        verify=copies.verify,
        timeout_ns=copies.timeout,
        lcores=list(lcores) if _has_thread(copies) else [],
    )


def _has_thread(copies: Copies) -> bool:
    """Whether the copier, or the one that it works on, has a thread of its own."""
    copier = known().get(copies.engine)
    options: Mapping[str, object] = copies.options
    if copier and copier.inner_option:
        copier, options = known().get(_value(copier, options, copier.inner_option)), {}
    if copier is None or copier.thread_option is None:
        return False
    return _value(copier, options, copier.thread_option) == _value(copier, {}, copier.thread_option)


def _value(copier: Copier, options: Mapping[str, object], name: str) -> str:
    default = next(option.default for option in copier.options if option.name == name)
    return str(options.get(name, default))


def copy_devices(scenario: Scenario) -> list[str]:
    """PCI addresses of the DMA engines that copiers name: EAL looks for no others."""
    found: dict[str, None] = {}
    for index in range(len(scenario.workload)):
        both = copied(scenario, index)
        copier = known().get(both[1].engine) if both else None
        if both and copier and copier.thread_option:
            found |= dict.fromkeys(pci_addresses(_value(copier, both[1].options, copier.thread_option)))
    return list(found)


def pci_addresses(devices: str) -> list[str]:
    """Those in names of devices, as in "0000:6a:01.0-q0"."""
    return _PCI.findall(devices)


def threads(scenario: Scenario, topologies: Sequence[Topology]) -> int:
    """Threads of software copiers: one an application of the client that has one."""
    return sum(
        1
        for topology in topologies
        if topology.side == "client"
        for application in topology.applications
        if (both := copied(scenario, application.workload)) and _has_thread(both[1])
    )


def reserved_cpus(scenario: Scenario, topologies: Sequence[Topology], allowed: Sequence[int]) -> list[int]:
    """CPUs for these threads: a CPU each where the workers leave so many, else fewer, and one at the least."""
    wanted = threads(scenario, topologies)
    if not wanted:
        return []
    free = sorted(set(allowed) - named_cpus(topologies)) or sorted(allowed)
    return free[: max(1, min(wanted, len(free) - least_cpus(topologies)))]


def source_bytes(scenario: Scenario) -> int:
    """Memory of all sources."""
    return sum(both[0].bytes for index in range(len(scenario.workload)) if (both := copied(scenario, index)))


def makes_chains(scenario: Scenario) -> bool:
    """Whether the client sends packets of two mbufs."""
    return any((both := copied(scenario, i)) and both[1].way == "zero" for i in range(len(scenario.workload)))


def pending_mbufs(scenario: Scenario, topology: Topology) -> int:
    """mbufs of packets that wait for their copies, which may be of messages that were given up."""
    return sum(_pending(scenario, topology, application.workload) for application in topology.applications)


def _pending(scenario: Scenario, topology: Topology, index: int) -> int:
    both = copied(scenario, index)
    if both is None:
        return 0
    count, batch = segments(request_bytes(scenario, index), topology.keys.mtu), topology.keys.batch.app_tx
    varied = scenario.workload[index].request_sizes is not None
    burst = max(batch, count) if varied else max(1, batch // count) * count
    capacity = 1 << (both[1].depth + both[1].batch + 2 * burst - 1).bit_length()
    return capacity + (capacity + burst if both[1].way == "zero" else 0)
