"""Copies of payload: which copier a workload has, what it may ask of it, and the CPUs, mbufs and memory that it takes."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES, Side
from windtunnel.parts.copies import plan as plans
from windtunnel.parts.copies.copiers import check_named, named_copier, named_copiers, option_value, plan_copier, working
from windtunnel.parts.copies.engine_profiles import Profile
from windtunnel.parts.copies.keys import Copies, CopySource, copies_keys, source_keys
from windtunnel.parts.copies.modelled import check_modelled, check_one_worker, named_profile
from windtunnel.scenario import wires
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.handlers import built_in, named_handler
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import cpu_list, least_cpus, named_cpus
from windtunnel.scenario.plugins import is_plugin
from windtunnel.scenario.quantities import write
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import Topology, endpoint, request_bytes, response_bytes, segments

MOST_COPIES_OF_A_RESPONSE = 4
"""Most copies that a handler may name: WT_MAX_COPIES of include/windtunnel/handler.h."""
_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


def source_of(scenario: Scenario, index: int) -> CopySource | None:
    """The source of the bytes of a workload's requests, or of what carries it; None: they have none."""
    workload = scenario.workload[index]
    return source_keys(workload) or (CopySource() if carrier_of(workload) else None)


def copies_of(scenario: Scenario, index: int) -> Copies | None:
    """How a workload copies; a source brings them with their defaults. None: nothing is copied for it."""
    return copies_keys(scenario.workload[index]) or (Copies() if source_of(scenario, index) else None)


def copies_on(scenario: Scenario, index: int, side: Side) -> Copies | None:
    """The copies of one side. Requests come from a source on the client; without a source the copies are the server's, of responses that
    its handler names."""
    of_client = source_of(scenario, index) is not None
    return copies_of(scenario, index) if of_client == (side == "client") else None


def check(scenario: Scenario, index: int) -> None:
    """Raises Refusal for the first error."""
    workload, copies = scenario.workload[index], copies_of(scenario, index)
    if copies is None or carrier_of(workload):
        return
    here: Path = ("workload", index, "copies")
    if source := source_keys(workload):
        _requests(scenario, index, source)
    else:
        _responses(scenario, index, copies, here)
    check_copier(scenario, index, copies, here)
    _way(scenario, copies, here)
    if copies.verify:
        _verified(scenario, index, here)


def _requests(scenario: Scenario, index: int, source: CopySource) -> None:
    if endpoint(scenario, "client") is None:
        raise Refusal(
            ("workload", index, "source"),
            "the client copies requests from the source, and this scenario has none",
            "a table [client], or no source",
        )
    body = request_bytes(scenario, index) - MESSAGE_HEADER_BYTES
    if source.bytes < body:
        raise Refusal(
            ("workload", index, "source", "bytes"),
            f"a source of {write('size', source.bytes)} does not hold the body of a request, {body} bytes",
            f"at least {body}",
        )


def _responses(scenario: Scenario, index: int, copies: Copies, here: Path) -> None:
    """Raises Refusal if there is no source and the handler names no copies."""
    named = named_handler(scenario, index)
    if scenario.workload[index].handler is None or (named and not named.names_copies):
        who = named.name if named else "a packet handler"
        namers = [handler.name for handler in built_in() if handler.names_copies]
        handlers = f" ({', '.join(namers)})" if namers else ""
        raise Refusal(
            here,
            f"there is nothing to copy: requests have no source, and {who} names no copies of its responses",
            f"a table [workload.source], or a handler that names copies{handlers}",
        )
    if endpoint(scenario, "server") is None:
        raise Refusal(
            here,
            "the server's handler names copies of its responses, and this scenario has no server",
            "a table [server], or a table [workload.source] for the client's requests",
        )
    if copies.way == "zero":
        raise Refusal(
            (*here, "way"), 'way = "zero" is for requests from a source', "another way, or a table [workload.source]"
        )
    if copies.at_least == "auto":
        raise Refusal(
            (*here, "at_least"),
            'at_least = "auto" is measured with a source, and this workload has none',
            'a size, as in at_least = "4KiB"; `windtunnel host copies` measures from which size on a copier pays',
        )


def check_copier(scenario: Scenario, index: int, copies: Copies, here: Path) -> None:
    """Raises Refusal if this engine has no such copier, the copier no such depth or option, or the run no place for its model."""
    check_named(copies, here)
    if profile := profile_of(scenario, index):
        check_modelled(scenario, copies, profile, _beside(scenario), here)


def profile_of(scenario: Scenario, index: int) -> Profile | None:
    """The figures of a workload's engine, if it is modelled. Raises Refusal, or UserError for what is wrong in a profile."""
    copies = copies_of(scenario, index)
    copier = working(copies) if copies else None
    return named_profile(scenario, copier, copies.options, ("workload", index, "copies")) if copies and copier else None


def check_workers(scenario: Scenario, cpus: Sequence[int]) -> None:
    """`cpus`: of the workers. Raises Refusal if there may be only one."""
    for index in range(len(scenario.workload)):
        if profile_of(scenario, index):
            check_one_worker(("workload", index, "copies"), cpus)


def _beside(scenario: Scenario) -> Iterator[tuple[int, str]]:
    """Each copier that may move bytes beside the worker, after the index of its workload: with a thread, with a device, or the user's own."""
    for index in range(len(scenario.workload)):
        if copies := copies_of(scenario, index):
            name, copier = named_copiers(copies)[-1], working(copies)
            if is_plugin(name) or (copier and copier.thread_option):
                yield index, name


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
    checker: Side = "server" if source_keys(workload) else "client"
    if endpoint(scenario, checker) is None:
        raise Refusal(
            (*here, "verify"),
            f"the {checker} checks the bytes, and this scenario has none",
            f"a table [{checker}], or a wire with both ends",
        )
    if workload.handler is None or workload.packet_handler is not None:
        raise Refusal(
            (*here, "verify"),
            "bytes are checked before the message handler; a packet handler could have changed them",
            "a message handler and no packet handler",
        )
    named = None if source_keys(workload) else named_handler(scenario, index)
    if named and not named.checks:
        raise Refusal(
            (*here, "verify"),
            f"{named.name} cannot say what its responses must be: it has no hook `check`",
            "verify = false, or a handler that checks responses",
        )


def plan_fields(scenario: Scenario, index: int, lcores: Sequence[int], free_cpu: int | None) -> dict[str, Any]:
    """What the plan's workload says of them; `lcores` are those kept free for threads of copiers. Raises Refusal."""
    return {"source": _planned_source(scenario, index), "copies": _planned_copies(scenario, index, lcores)}


def _planned_source(scenario: Scenario, index: int) -> plans.Source | None:
    source = source_of(scenario, index)
    return plans.Source(bytes=source.bytes, order=source.order) if source else None


def _planned_copies(scenario: Scenario, index: int, lcores: Sequence[int]) -> plans.Copies | None:
    copies = copies_of(scenario, index)
    if copies is None:
        return None
    engine, options = plan_copier(scenario, copies, ("workload", index, "copies"))
    profile = profile_of(scenario, index)
    return plans.Copies(
        engine=engine,
        options=options,
        depth=copies.depth,
        batch=copies.batch,
        way=copies.way,
        at_least_bytes=None if isinstance(copies.at_least, str) else copies.at_least,
        verify=copies.verify,
        timeout_ns=copies.timeout,
        lcores=list(lcores) if _has_thread(copies) else [],
        model=profile.plan() if profile else None,
    )


def _has_thread(copies: Copies) -> bool:
    """Whether the copier, or the one that it works on, has a thread of its own."""
    copier = working(copies)
    if copier is None or copier.thread_option is None:
        return False
    options: Mapping[str, object] = copies.options if copier.name == copies.engine else {}
    return option_value(copier, options, copier.thread_option) == option_value(copier, {}, copier.thread_option)


def devices(scenario: Scenario, sides: Sequence[Side]) -> list[str]:
    """PCI addresses of the DMA engines that copiers of these sides name: EAL looks for no others."""
    addresses: dict[str, None] = {}
    for index in range(len(scenario.workload)):
        copies = next((its for side in sides if (its := copies_on(scenario, index, side))), None)
        copier = named_copier(copies) if copies else None
        if copies and copier and copier.thread_option:
            addresses |= dict.fromkeys(pci_addresses(option_value(copier, copies.options, copier.thread_option)))
    return list(addresses)


def pci_addresses(devices: str) -> list[str]:
    """PCI addresses in names of devices, as in "0000:6a:01.0-q0"."""
    return _PCI.findall(devices)


def threads(scenario: Scenario, topologies: Sequence[Topology]) -> int:
    """Threads of software copiers: one an application that has one."""
    return sum(
        1
        for topology in topologies
        for application in topology.applications
        if (copies := copies_on(scenario, application.workload, topology.side)) and _has_thread(copies)
    )


def reserved_cpus(scenario: Scenario, topologies: Sequence[Topology], allowed: Sequence[int]) -> list[int]:
    """CPUs for these threads: one free CPU for each if there are enough; at least one."""
    wanted = threads(scenario, topologies)
    if not wanted:
        return []
    free = sorted(set(allowed) - named_cpus(topologies)) or sorted(allowed)
    return free[: max(1, min(wanted, len(free) - least_cpus(topologies)))]


def memory_bytes(scenario: Scenario, side: Side, host: HostView) -> int:
    """Memory of all sources, which the client has."""
    sources = (source_of(scenario, index) for index in range(len(scenario.workload)))
    return sum(source.bytes for source in sources if source) if side == "client" else 0


def notes(scenario: Scenario, workers: Collection[int], reserved: Sequence[int], free_cpu: int | None) -> list[str]:
    """On the CPUs of the threads of software copiers, on `workers`, the workers' CPUs, that they preempt, and which figures copies are modelled
    by."""
    return [*_thread_notes(workers, reserved), *_model_notes(scenario)]


def _thread_notes(workers: Collection[int], reserved: Sequence[int]) -> list[str]:
    if not reserved:
        return []
    busy = set(workers) & set(reserved)
    where = f"the copiers' threads run on CPU {cpu_list(reserved)}"
    return [
        f"{where}, over-committed: workers run on CPU {cpu_list(busy)} too" if busy else f"{where}, which no worker has"
    ]


def _model_notes(scenario: Scenario) -> list[str]:
    """Which figures copies are modelled by, and which of them are assumptions."""
    lines = []
    for profile in filter(None, (profile_of(scenario, index) for index in range(len(scenario.workload)))):
        lines.append(f"modelled copies: {profile.name} is {profile.engine.title}")
        lines += [f"modelled copies: {profile.name} assumes {assumption}" for assumption in profile.assumptions()]
    return list(dict.fromkeys(lines))


def mbufs_of_packet(scenario: Scenario, index: int) -> int:
    """mbufs of a packet of a request: of zero-copy requests two, the second of which is a part of the source."""
    return 2 if _refers_to_source(scenario, index) else 1


def _refers_to_source(scenario: Scenario, index: int) -> bool:
    copies = copies_on(scenario, index, "client")
    return copies is not None and copies.way == "zero"


def makes_chains(scenario: Scenario) -> bool:
    """Whether the client sends such packets."""
    return any(_refers_to_source(scenario, index) for index in range(len(scenario.workload)))


def mbufs(scenario: Scenario, topology: Topology) -> dict[str, int]:
    """mbufs of packets that wait for their copies, which may be of messages that were given up."""
    return {"copies": _pending_mbufs(scenario, topology)}


def _pending_mbufs(scenario: Scenario, topology: Topology) -> int:
    return sum(_pending(scenario, topology, application.workload) for application in topology.applications)


def _pending(scenario: Scenario, topology: Topology, index: int) -> int:
    """Entries of the engine's FIFO; a response may have several for a packet."""
    copies, workload = copies_on(scenario, index, topology.side), scenario.workload[index]
    if copies is None or carrier_of(workload):
        return 0
    of_client = topology.side == "client"
    batch = topology.keys.batch.app_tx if of_client else topology.keys.batch.app_rx
    count = segments((request_bytes if of_client else response_bytes)(scenario, index), topology.keys)
    varied = of_client and workload.request_sizes is not None
    burst = max(batch, count) if varied else max(1, batch // count) * count
    entries = burst if of_client else burst * MOST_COPIES_OF_A_RESPONSE
    capacity = 1 << (copies.depth + copies.batch + 2 * entries - 1).bit_length()
    return capacity + (capacity + burst if copies.way == "zero" else 0)
