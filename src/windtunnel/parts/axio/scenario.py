"""Conversion of a configuration of Axio to a scenario: one TOML text, checked by the scenario's own models.

A file of Axio describes one host. The scenario has both sides, on the wire "ring", so that it runs at once, or on "rdma" for RoCE; the other
side has the addresses of the file, the same workloads, and defaults for the rest.
"""

from collections.abc import Sequence
from functools import partial
from operator import mul
from typing import Any, get_args

from pydantic import ValidationError

from windtunnel.exchange.source import Fault, Foreign
from windtunnel.exchange.toml_text import text_of
from windtunnel.parts.axio import alone, roce
from windtunnel.parts.axio.config import AxioConfig, AxioWorkload, Entry
from windtunnel.parts.axio.config_keys import AUTO_CPUS, BATCHES, COMPILED, HANDLERS, M_APP, NO_NIC, PHASES
from windtunnel.parts.axio.conversion import SIDES, Conversion
from windtunnel.parts.axio.workspaces import workers
from windtunnel.scenario.checks import check
from windtunnel.scenario.keys import Mempool, Scenario
from windtunnel.scenario.load import refusal_of
from windtunnel.scenario.refusal import Refusal, shown

_LOOP = {
    "client": {"app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"},
    "server": {"nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"},
}
_PLACED = "--cpus, with the CPUs of the node, places each workspace"
_PARTIAL = {
    "server": "or nic_rx and disp_rx alone, in all workloads, without echo",
    "client": "or app_tx, disp_tx and nic_tx alone, in all workloads",
}
_GATHERS = "Axio's app_rx and nic_tx wait until a batch is full; here a batch is the maximum that a call takes"


def scenario_text(
    foreign: Foreign,
    config: AxioConfig,
    side: str | None,
    transport: str | None = None,
    cpus: Sequence[int] | None = None,
    rate: str | None = None,
) -> tuple[str, list[str]]:
    """The scenario, and the skipped keys. `transport`: of RoCE, as the command's option has it; `cpus`: of the NUMA node, to place the
    workspaces; `rate`: of pipelines that only send. Raises UserError with all faults and all keys that cannot be mapped."""
    side = side_of(config, side)
    if side is None:
        what = "the file does not name its side"
        raise foreign.error([*config.faults, Fault(0, what, "--side client, or --side server")])
    conversion = Conversion(config, side, roce.transport(config, transport), cpus)
    _run_keys(conversion)
    _endpoints(conversion)
    _workloads(conversion)
    alone.offer(conversion, rate)
    if conversion.alone == "receives":
        alone.receive(conversion)
    _check(conversion)
    if conversion.faults:
        raise foreign.error(conversion.faults)
    notes = [*_skipped(conversion), *conversion.notes]
    conversion.data = {"title": foreign.file.stem[:200] or "axio"} | conversion.data
    question = f"What does the {side} of Axio's {foreign.file.name} cost, stage by stage?"
    return text_of(question, notes, conversion.data), notes


def side_of(config: AxioConfig, option: str | None) -> str | None:
    """The side in the file, else that of the option, else by app_tx, which only a client has."""
    role = config.values.get("role")
    if role is not None:
        return role.value if role.value in SIDES else _no_role(config, role)
    phases = {PHASES.get(phase) for workload in config.workloads for phase in workload.phases}
    return option or (("client" if "app_tx" in phases else "server") if phases else None)


def _no_role(config: AxioConfig, role: Entry) -> str:
    config.faults.append(Fault(role.line, f'{role.key} is "{role.value}"', '"client" or "server"'))
    return "server"


def _run_keys(conversion: Conversion) -> None:
    """Axio counts windows; none of them is a warm-up."""
    seconds = conversion.value("window_seconds")
    conversion.put(("window",), "window_seconds", lambda value: f"{value}s")
    if type(seconds) is int:
        conversion.put(("duration",), "iterations", lambda count: f"{count * seconds}s")
        conversion.notes.append("warmup has its default: Axio's first windows are its warm-up, and count")


def _endpoints(conversion: Conversion) -> None:
    side, peer, config = conversion.side, conversion.peer, conversion.config
    for owner, prefix in ((side, "local"), (peer, "remote")):
        if owner == peer and conversion.alone:
            conversion.skip(f"{prefix}_ip", alone.NO_PEER)
            conversion.skip(f"{prefix}_mac", alone.NO_PEER)
            continue
        conversion.put((owner, "ip"), f"{prefix}_ip")
        if conversion.transport:
            conversion.skip(f"{prefix}_mac", roce.NO_MAC)
            conversion.put((owner, "mtu"), "mtu", lambda mtu: mtu + roce.IP_UDP_HEADER_BYTES)
        else:
            conversion.put((owner, "mac"), f"{prefix}_mac")
            conversion.put((owner, "mtu"), "mtu")
    if conversion.cpus is not None:
        conversion.data[side]["worker"] = workers(config, conversion.cpus, conversion.faults)
    for name, stage in BATCHES.items():
        if stage != "app_tx" or side == "client":
            conversion.put((side, "batch", stage), name)
        else:
            conversion.skip(name, "a server makes no messages of its own")
    conversion.put((side, "rx_descriptors"), "rx_ring_entries")
    conversion.put((side, "tx_descriptors"), "tx_ring_entries")
    dispatchers = sum(len(workload.groups) for workload in config.workloads)
    conversion.put((side, "mempool", "size"), "mempool_size", lambda size: size * dispatchers)
    if dispatchers > 1 and "mempool_size" in config.values:
        conversion.notes.append("mempool.size: Axio has a pool for each dispatcher, an endpoint here has one for all")
    conversion.put((side, "mempool", "cache"), "mempool_cache_size")
    _pool_ops(conversion)
    if conversion.alone:
        conversion.skip("apply_new_mbuf", alone.NO_RESPONSES)
    else:
        conversion.put(("server", "response_mbuf"), "apply_new_mbuf", lambda new: "new" if new else "request")
    if any(name in config.values for name in BATCHES):
        conversion.notes.append(_GATHERS)
    if conversion.transport:
        conversion.notes += roce.notes(conversion.transport)


def _pool_ops(conversion: Conversion) -> None:
    ops = conversion.config.values.get("mempool_handler")
    choices = (roce.POOL,) if conversion.transport else get_args(Mempool.model_fields["ops"].annotation)
    if ops is not None and ops.value not in choices:
        conversion.fault(ops, f"one of {', '.join(choices)}")
    elif conversion.transport:
        conversion.skip("mempool_handler", roce.OWN_POOL)
    else:
        conversion.put((conversion.side, "mempool", "ops"), "mempool_handler")


def _workloads(conversion: Conversion) -> None:
    config = conversion.config
    if not config.workloads and not conversion.faults:
        conversion.faults.append(
            Fault(0, "no workload", "at least one workload, which names its pipeline and workspaces")
        )
    packet_handlers = ("empty",) if conversion.transport else ("empty", "echo")
    for name, choices in (("message_handler", HANDLERS), ("packet_handler", packet_handlers)):
        if conversion.value(name) is not None and conversion.value(name) not in choices:
            conversion.fault(config.values[name], f"one of {', '.join(choices)}")
    unlimited = config.values.get("inflight_limit_enabled")
    if unlimited is not None and unlimited.value is False and conversion.alone != "sends":
        conversion.fault(
            unlimited, "true: a client here has an in-flight limit (inflight), or offers messages at its own rate"
        )
    if config.form == "colon":
        compiled = ", ".join(f"{name} = {value}" for name, value in COMPILED.items() if not isinstance(value, bool))
        conversion.notes.append(
            f"not in the file, because compiled into Axio, and taken as its converter does: {compiled}"
        )
    _shared_workspaces(conversion)
    for index, workload in enumerate(config.workloads):
        table = _workload(conversion, workload)
        conversion.data["workload"].append(alone.without_responses(conversion, table) if conversion.alone else table)
        for key, name in (("request", "request_payload_bytes"), ("response", "response_payload_bytes")):
            if key in conversion.data["workload"][index]:
                conversion.put(("workload", index, key), name)
        if "handler" in conversion.data["workload"][index]:  # a packet handler alone has no application to do this work
            conversion.put(("workload", index, "extra_ticks"), "app_ticks_per_message")
        applications = sum(len(applications) for applications, _ in workload.groups)
        if not conversion.alone:
            conversion.put(("workload", index, "inflight"), "inflight_messages", partial(mul, applications))
    if conversion.alone:
        alone.skip(conversion)
    elif conversion.value("app_ticks_per_message") and not any(
        "handler" in table for table in conversion.data["workload"]
    ):
        conversion.skip("app_ticks_per_message", "a packet handler alone has no application to do this work")
    if config.workloads and not conversion.alone:
        conversion.notes.append(
            "inflight: Axio has an in-flight limit for each application of a workload, here it is their sum"
        )


def _workload(conversion: Conversion, workload: AxioWorkload) -> dict[str, Any]:
    """The table of one workload; conflicts are added to the faults."""
    handler = HANDLERS.get(conversion.value("message_handler"))
    by_packet = conversion.value("packet_handler") == "echo" or _is_packet_handler(conversion, workload)
    phases = _phases(conversion, workload, by_packet)
    data: dict[str, Any] = {"name": f"workload-{workload.id}"}
    if handler and "app_rx" in phases:
        data |= {"handler": handler} | ({"options": dict(M_APP)} if handler == "m_app" else {})
    if by_packet:
        data["packet_handler"] = "echo"
    data["request"] = conversion.value("request_payload_bytes")
    if "handler" in data:
        data["response"] = conversion.value("response_payload_bytes")
    sizes = [len(applications) for applications, _ in workload.groups]
    if not sizes or min(sizes) == 0:
        what = f"workload {workload.id}: groups of {', '.join(map(str, sizes)) or 'no'} applications"
        conversion.faults.append(Fault(workload.line, what, "at least one application for each dispatcher"))
    data |= {"apps": sum(sizes), "dispatchers": len(sizes), "colocate": _colocated(conversion, workload)}
    if not workload.is_even:
        data["groups"] = sizes
    budget = conversion.value("inflight_messages")
    if budget is not None:
        data["inflight"] = budget * sum(sizes) if type(budget) is int else budget
    remote = len(set(workload.remote)) or len(sizes)
    if remote != len(sizes) and not conversion.alone:
        data |= _unlike(conversion, workload, len(sizes), remote)
    return {key: value for key, value in data.items() if value is not None}


def _unlike(conversion: Conversion, workload: AxioWorkload, own: int, remote: int) -> dict[str, Any]:
    """The keys for two sides with unlike numbers of dispatchers."""
    conversion.notes.append(
        f"workload {workload.id}: the {conversion.peer} has {remote} dispatchers, as the file says, and as many applications as the "
        f"{conversion.side}, because the file does not say how many"
    )
    server, client = (own, remote) if conversion.side == "server" else (remote, own)
    return {"dispatchers": server, "client": {"dispatchers": client}}


def _phases(conversion: Conversion, workload: AxioWorkload, by_packet: bool) -> set[str]:
    """The stages of a pipeline: those of its side, or with a packet handler those that a packet needs."""
    unknown = [phase for phase in workload.phases if phase not in PHASES]
    stages = {PHASES[phase] for phase in workload.phases if phase in PHASES}
    expected = _LOOP[conversion.side]
    bare = expected - {"app_rx", "app_tx"}
    if unknown:
        conversion.faults.append(
            Fault(
                workload.line, f"workload {workload.id}: no phase {', '.join(unknown)}", f"one of {', '.join(PHASES)}"
            )
        )
    elif (
        stages != expected
        and not conversion.alone
        and not (by_packet and conversion.side == "server" and bare - {"disp_tx"} <= stages <= bare)
    ):
        missing, more = ", ".join(sorted(expected - stages)), ", ".join(sorted(stages - expected))
        what = " and ".join(filter(None, (missing and f"lacks {missing}", more and f"has {more}")))
        what = f"workload {workload.id}: the pipeline {what}, which the {conversion.side} here cannot"
        remedy = f"the stages {', '.join(sorted(expected))}; {_PARTIAL[conversion.side]}"
        conversion.faults.append(Fault(workload.line, what, remedy))
    return stages


def _is_packet_handler(conversion: Conversion, workload: AxioWorkload) -> bool:
    """Whether a server's pipeline turns packets round without an application, and the file does not name the handler that does it."""
    stages = {PHASES.get(phase) for phase in workload.phases}
    if "app_rx" in stages or not stages >= {"nic_rx", "disp_rx", "nic_tx"} or conversion.side == "client":
        return False
    if conversion.transport or "packet_handler" in conversion.config.values:
        return False
    what = f"workload {workload.id}: a pipeline without an application is one with a packet handler, compiled into Axio: echo is taken"
    conversion.notes.append(what)
    return True


def _colocated(conversion: Conversion, workload: AxioWorkload) -> bool:
    """Whether each dispatcher shares a workspace with one of its applications; a mixture is a fault."""
    own = [dispatcher in applications for applications, dispatcher in workload.groups]
    everybody = {application for applications, _ in workload.groups for application in applications}
    strange = [d for (_, d), inside in zip(workload.groups, own, strict=True) if not inside and d in everybody]
    if conversion.cpus is None and (strange or len(set(own)) > 1):
        what = f"workload {workload.id}: some dispatchers sit with an application of theirs, others do not"
        conversion.faults.append(
            Fault(workload.line, what, f"each of them with its own application, or none; or {_PLACED}")
        )
    return all(own)


def _shared_workspaces(conversion: Conversion) -> None:
    """Adds a fault for each workspace that serves more than one workload, unless workspaces are placed, and for dispatchers with two groups."""
    owners: dict[int, int] = {}
    for workload in conversion.config.workloads:
        dispatchers = [dispatcher for _, dispatcher in workload.groups]
        mine = {*dispatchers, *(application for applications, _ in workload.groups for application in applications)}
        for workspace in sorted(mine & owners.keys()):
            what = f"workspace {workspace} serves workloads {owners[workspace]} and {workload.id}"
            if conversion.cpus is None:
                remedy = f"workspaces of its own for each workload; or {_PLACED}"
                conversion.faults.append(Fault(workload.line, what, remedy))
            elif workspace in dispatchers:
                conversion.notes.append(f"{what}: here each workload has a dispatcher of its own there, with a queue")
        if len(set(dispatchers)) < len(dispatchers):
            what = f"workload {workload.id}: a dispatcher has two groups"
            conversion.faults.append(Fault(workload.line, what, "one group for each dispatcher"))
        owners |= dict.fromkeys(mine, workload.id)


def _skipped(conversion: Conversion) -> list[str]:
    """Notes on the skipped keys, by reason."""
    config = conversion.config
    reasons: dict[str, list[str]] = {}
    for entry, reason in config.skipped:
        reason = roce.DEVICE if conversion.transport and reason == NO_NIC else reason
        reason = "--cpus names its CPUs" if conversion.cpus is not None and reason == AUTO_CPUS else reason
        reasons.setdefault(reason, []).append(f"{entry.key} = {shown(entry.value)}")
    notes = [f"not converted: {', '.join(keys)}: {reason}" for reason, keys in reasons.items()]
    cores = config.workspaces or {
        workspace: workspace for workload in config.workloads for apps, d in workload.groups for workspace in [*apps, d]
    }
    if cores and conversion.cpus is None:
        listed = ", ".join(f"{workspace} on {core}" for workspace, core in sorted(cores.items()))
        notes.append(
            f"not converted: workspaces on cores of the NUMA node, {listed}: Windtunnel chooses CPUs; {_PLACED}"
        )
    return notes


def _check(conversion: Conversion) -> None:
    """Checks the data as the scenario's own loader does, and reports each fault at its line of Axio's file. If there are faults already, only
    faults of keys in the file are added: the other keys may be missing for that reason."""
    wrong = bool(conversion.faults)
    try:
        scenario = Scenario.model_validate(conversion.data)
        if not wrong:
            check(scenario)
    except ValidationError as error:
        faults = [_put_back(conversion, refusal_of(fault)) for fault in error.errors(include_url=False)]
        conversion.faults += [fault for fault in faults if fault.line or not wrong]
    except Refusal as refusal:
        conversion.faults.append(_put_back(conversion, refusal))


def _put_back(conversion: Conversion, refusal: Refusal) -> Fault:
    nearest = [entry for path, entry in conversion.origin.items() if path == refusal.path[: len(path)]]
    if nearest:
        return Fault(nearest[0].line, f"{nearest[0].key}: in the scenario, {refusal.what}", refusal.remedy)
    workloads = conversion.config.workloads
    _, index, *_ = (*refusal.path, None, None)
    line = workloads[index].line if refusal.path[:1] == ("workload",) and isinstance(index, int) else 0
    return Fault(line, f"in the scenario, {refusal.what}", refusal.remedy)
