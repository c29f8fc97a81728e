"""Makes a run from a scenario and a host: placement, demand, memory, and one plan for each engine process."""

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.engine import plan as plans
from windtunnel.engine.plan import PLAN_VERSION, Plan, Variants
from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES, Side
from windtunnel.scenario import part_resources, wires
from windtunnel.scenario.capture import Capture
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.cpu_choice import divide
from windtunnel.scenario.cpu_map import CpuMap, main_cpus, pairs_on_siblings
from windtunnel.scenario.demand import Demand, demand
from windtunnel.scenario.endpoints import plan_endpoint, plan_workload
from windtunnel.scenario.exchanges import StageOfSide
from windtunnel.scenario.host import Cable, HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.loads import unseen_phases
from windtunnel.scenario.memory import MODES, Mode, choose, eal, wanted_bytes
from windtunnel.scenario.needs import check_host, replayed, shared_socket
from windtunnel.scenario.nics import devices, far_nics, nic_nodes
from windtunnel.scenario.one_side import CABLED, OneSide, check_one_side
from windtunnel.scenario.other_engines import engines_cpus, shared_with_engines
from windtunnel.scenario.phases import short_phases, window_ns
from windtunnel.scenario.placement import Placed, cpu_list, crossings, place
from windtunnel.scenario.probe_pairs import probe_pairs, unprobed
from windtunnel.scenario.quantities import write
from windtunnel.scenario.receives import few_receives
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.run_spec import RunSpec
from windtunnel.scenario.topology import Topology, request_bytes, topologies
from windtunnel.scenario.variants import longest_delay_ns

CALL_OF_MESSAGES_NS = 50_000
"""Longest call that counts as work if a scenario does not say."""


def resolve(
    scenario: Scenario, host: HostView | Cable, one_side: OneSide | None = None, variants: Variants | None = None
) -> RunSpec:
    """Plans the run on this host, or one side of it, or each side on its end of a cable, and what changes between its windows. Raises
    UserError that names file and line of what cannot be."""
    try:
        if isinstance(host, Cable):
            return _at_both_ends(scenario, host, variants)
        return _resolve(scenario, host, one_side, variants)
    except Refusal as refusal:
        raise scenario.source.error(refusal) from None


def _at_both_ends(scenario: Scenario, cable: Cable, variants: Variants | None) -> RunSpec:
    """Both sides as one run, of which each machine executes its own."""
    server = _resolve(scenario, cable.server, OneSide("server", given_by=CABLED), variants)
    client = _resolve(scenario, cable.client, OneSide("client", given_by=CABLED), variants)
    return replace(
        client,
        plans=[*server.plans, *client.plans],
        names=[*server.names, *client.names],
        notes=list(dict.fromkeys([*client.notes, *server.notes])),
        resolved=client.resolved | {"server": server.resolved["server"]},
        demands=server.demands | client.demands,
        maps=[*server.maps, *client.maps],
    )


@dataclass(frozen=True)
class _Decided:
    """What all processes of a run have in common."""

    scenario: Scenario
    host: HostView
    sides: list[Topology]
    placed: list[Placed]
    demands: dict[Side, Demand]
    mode: Mode
    token: str
    """Makes the names that are the run's own: file prefixes, the socket of two processes."""
    socket: str | None
    one_side: OneSide | None
    digest: str
    variants: Variants | None
    reserved_cpus: list[int]
    """CPUs for threads of parts."""
    engines_cpus: set[int]
    """CPUs that workers of other engines have."""
    capture: Capture | None


def _resolve(scenario: Scenario, host: HostView, one_side: OneSide | None, variants: Variants | None) -> RunSpec:
    if one_side:
        check_one_side(scenario, one_side)
    check_host(scenario, host, one_side.side if one_side else None)
    sides = topologies(scenario)
    process_each = wires.has(scenario, "process_each")
    # Such ends are on one host: each keeps off the other's CPUs although it runs alone.
    here = [topology for topology in sides if not one_side or process_each or topology.side == one_side.side]
    kept = part_resources.reserved_cpus(scenario, here, host.cpus)
    taken = engines_cpus(scenario, host, one_side)
    cpus = divide(here, host.cpus, host.topology, {*kept, *taken}, nic_nodes(scenario, host))
    sides = [topology for topology in sides if not one_side or topology.side == one_side.side]
    placed = place(sides, cpus)
    part_resources.check_workers(scenario, sorted({stage.cpu for stage in placed}))
    capture = replayed(scenario)
    frames = capture.frames if capture and not wires.is_timed(scenario) else 0
    demands = {
        side.side: demand(scenario, side, _touching(scenario, side, placed), crossings(side, placed), frames, variants)
        for side in sides
    }
    processes = [[side] for side in sides] if process_each else [sides]
    sized = [[(side, demands[side.side].size) for side in process] for process in processes]
    extra = {side: part_resources.memory_bytes(scenario, side, host) for side in wires.SIDES}
    needs = {
        mode: [wanted_bytes(process, mode, sum(extra[t.side] for t, _ in process)) for process in sized]
        for mode in MODES
    }
    token = secrets.token_hex(4)
    keys = _dump(scenario)
    decided = _Decided(
        scenario=scenario,
        host=host,
        sides=sides,
        placed=placed,
        demands=demands,
        mode=choose(scenario, host, {mode: sum(sizes) for mode, sizes in needs.items()}),
        token=token,
        socket=shared_socket(scenario, token),
        one_side=one_side,
        digest=hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest(),
        variants=variants,
        reserved_cpus=kept,
        engines_cpus=taken,
        capture=capture,
    )
    names: list[str] = [process[0].side for process in processes] if len(processes) > 1 or one_side else ["windtunnel"]
    return RunSpec(
        scenario=scenario,
        question=scenario.question,
        title=scenario.title,
        plans=[
            _plan(decided, name, process, need)
            for name, process, need in zip(names, processes, needs[decided.mode], strict=True)
        ],
        names=names,
        notes=_notes(decided),
        resolved=_resolved(decided, sides, cpus, keys),
        demands=demands,
        maps=[CpuMap(sides, placed, host.topology, set(host.cpus), kept, nic_nodes(scenario, host))],
    )


def _touching(scenario: Scenario, topology: Topology, placed: list[Placed]) -> int:
    """Workers that take mbufs from the endpoint's pool or give them back. Raises Refusal if the pool cannot bear it."""
    shared = wires.has(scenario, "moves_mbufs")
    workers = len({stage.cpu for stage in placed if shared or stage.side == topology.side})
    if topology.keys.mempool.ops == "ring_sp_sc" and workers > 1:
        raise Refusal(
            (topology.side, "mempool", "ops"),
            f"{topology.side}.mempool.ops: ring_sp_sc allows one worker; {workers} workers use this pool",
            'ops = "ring_mp_mc", or all stages on one core',
        )
    return workers


def _plan(decided: _Decided, name: str, process: list[Topology], need: int) -> Plan:
    scenario = decided.scenario
    sides = [topology.side for topology in process]
    mine = [stage for stage in decided.placed if stage.side in sides]
    lcores = {cpu: lcore for lcore, cpu in enumerate(dict.fromkeys(stage.cpu for stage in mine), start=1)}
    workers = dict(lcores)
    for cpu in decided.reserved_cpus if part_resources.threads(scenario, process) else []:
        lcores.setdefault(cpu, len(lcores) + 1)
    prefix = f"wt-{decided.token}" + (f"-{name}" if name in sides and decided.socket else "")
    return Plan(
        version=PLAN_VERSION,
        hash=decided.digest,
        title=scenario.title,
        seed=scenario.seed,
        eal=eal(
            decided.mode,
            need,
            main_cpus(lcores, decided.host.topology, decided.host.cpus, decided.reserved_cpus),
            lcores,
            prefix,
            [*devices(scenario, sides), *part_resources.devices(scenario, sides)],
        ),
        accounting=plans.Accounting(
            level=scenario.accounting.level,
            sample_every=scenario.accounting.sample_every,
            interrupted_above_ns=_interrupted_above(scenario) + longest_delay_ns(process, decided.variants),
        ),
        phases=plans.Phases(
            warmup_ns=scenario.warmup,
            duration_ns=scenario.duration,
            window_ns=window_ns(scenario),
            messages=scenario.messages,
            drain_ns=scenario.drain,
            hold_windows=_hold_windows(decided, lcores),
        ),
        hello_wait_ns=decided.one_side.wait_ns if decided.one_side else None,
        endpoints=[plan_endpoint(scenario, side, decided.demands[side.side].size, decided.socket) for side in process],
        workloads=[
            plan_workload(
                scenario,
                index,
                "client" in sides,
                [lcores[cpu] for cpu in decided.reserved_cpus if cpu in lcores],
                _free_cpu(decided),
                decided.variants,
            )
            for index in range(len(scenario.workload))
        ],
        workers=[_worker(lcore, cpu, mine, sides) for cpu, lcore in workers.items()],
        probe_pairs=probe_pairs(process, _worker_of_stage(list(workers), mine)),
        record=scenario.record,
        trace=None,
        raw_latency=None,
        variants=decided.variants,
    )


def _interrupted_above(scenario: Scenario) -> int:
    own = scenario.accounting.interrupted_above
    if own is not None:
        return own
    carried = (carrier.longest_call_ns(w) for w in scenario.workload if (carrier := carrier_of(w)))
    return CALL_OF_MESSAGES_NS + max(carried, default=0)


def _hold_windows(decided: _Decided, workers: Collection[int]) -> bool:
    """Whether engine and supervisor would take a CPU from a worker to write and to read a window, some milliseconds each time, and the
    run can do without: nothing on its wire has a time of its own. `workers`: their CPUs."""
    return wires.has(decided.scenario, "twice") and set(decided.host.cpus) <= set(workers)


def _worker(lcore: int, cpu: int, placed: list[Placed], sides: list[Side]) -> plans.Worker:
    stages = [
        plans.StageOf(endpoint=sides.index(stage.side), stage=stage.stage, index=stage.index)
        for stage in placed
        if stage.cpu == cpu
    ]
    return plans.Worker(lcore=lcore, cpu=cpu, stages=stages)


def _worker_of_stage(workers: Sequence[int], placed: Iterable[Placed]) -> dict[StageOfSide, int]:
    """Position of the worker of each stage; `workers`: their CPUs."""
    return {(stage.side, stage.stage, stage.index): workers.index(stage.cpu) for stage in placed}


def _free_cpu(decided: _Decided) -> int | None:
    """A CPU without a worker, for a thread of a part that needs none of its own; None if each has one."""
    free = sorted(set(decided.host.cpus) - {stage.cpu for stage in decided.placed} - set(decided.reserved_cpus))
    return free[0] if free else None


def _notes(decided: _Decided) -> list[str]:
    notes = short_phases(decided.scenario)
    server, client = ({stage.cpu for stage in decided.placed if stage.side == side} for side in ("server", "client"))
    if server & client:
        notes.append(f"client and server share CPU {cpu_list(server & client)}: both are slower than on separate cores")
    notes += pairs_on_siblings(decided.sides, decided.placed, decided.host.topology)
    notes += unprobed(decided.sides, {(s.side, s.stage, s.index): s.cpu for s in decided.placed})
    notes += shared_with_engines(decided.placed, decided.engines_cpus)
    notes += part_resources.notes(
        decided.scenario, {stage.cpu for stage in decided.placed}, decided.reserved_cpus, _free_cpu(decided)
    )
    if decided.capture and decided.scenario.server:
        notes += decided.capture.notes(decided.scenario.server.vlan)
    notes += _empty_bodies(decided.scenario)
    notes += far_nics(decided.scenario, decided.host, decided.placed)
    notes += few_receives(decided.scenario)
    if decided.mode == "no-huge":
        notes.append("without hugepages: packets cost more; not comparable with runs on hugepages")
    return [*notes, *unseen_phases(decided.scenario)]


def _empty_bodies(scenario: Scenario) -> list[str]:
    """Who writes a handler may take `request` for the body that it sees."""
    return [
        f"workload {index}: a request of {MESSAGE_HEADER_BYTES}B is the message header alone: the handler sees no body"
        for index, workload in enumerate(scenario.workload)
        if workload.handler and not workload.request_sizes and request_bytes(scenario, index) == MESSAGE_HEADER_BYTES
    ]


def _dump(scenario: Scenario) -> dict[str, Any]:
    dump = scenario.model_dump(mode="json", by_alias=True)
    for workload in dump["workload"]:  # the one size has no part if there are many
        workload |= {key: None for key in ("request", "response") if workload[f"{key}_sizes"]}
    return dump


def _resolved(
    decided: _Decided, sides: list[Topology], cpus: dict[Side, list[int]], keys: dict[str, Any]
) -> dict[str, Any]:
    """Every key; what was "auto" is what it became on this host. `keys`: the scenario's, which it takes over."""
    scenario = decided.scenario
    resolved = keys | {
        "memory": decided.mode,
        "window": write("duration", window_ns(scenario)),
    }
    resolved["accounting"]["interrupted_above"] = write("duration", _interrupted_above(scenario))
    resolved["wire"] |= wires.dumped(scenario, scenario.wire)
    for topology in sides:
        of_side = topology.keys.model_dump(mode="json", by_alias=True) | wires.dumped(scenario, topology.keys)
        of_side["mempool"]["size"] = decided.demands[topology.side].size
        if not topology.keys.worker:
            of_side["cores"] = cpus[topology.side]
        resolved[topology.side] = of_side
    return resolved
