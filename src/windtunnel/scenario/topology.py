"""The applications and dispatchers of workloads, and the stages that each endpoint needs.

Indices count through the workloads; a dispatcher belongs to one workload and is one queue. Dispatcher d of a client sends to dispatcher d of
the workload's server, or to all of them in turn if these are more or fewer than the client's. Of A applications and D
dispatchers of a workload, application a uses dispatcher a mod D if A >= D, else every d with d mod A = a. With `groups` the first applications are
those of the first dispatcher, and so on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.engine.plan import Application, Dispatcher
from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES, Side, Stage
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.frames import ip_udp_header_bytes
from windtunnel.scenario.keys import Client, Scenario, Server, Workload
from windtunnel.scenario.sizes import plan_sizes
from windtunnel.scenario.wires import has

DEFAULT_RESPONSE_BYTES = 86

SERVER_STAGES: tuple[Stage, ...] = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")
CLIENT_STAGES: tuple[Stage, ...] = ("nic_rx", "disp_rx", "app_rx", "app_tx", "disp_tx", "nic_tx")
"""The order of a loop. A server has no app_tx: its app_rx puts the responses on the ring itself."""


@dataclass(frozen=True)
class Topology:
    """The parts of one endpoint."""

    side: Side
    keys: Client | Server
    applications: tuple[Application, ...]
    dispatchers: tuple[Dispatcher, ...]
    colocated: tuple[bool, ...]
    """Whether a workload's applications are colocated, by workload."""

    @property
    def stages(self) -> list[tuple[Stage, int]]:
        """Every stage that must be placed, in the order of a loop."""
        order = CLIENT_STAGES if self.side == "client" else SERVER_STAGES
        return [(stage, index) for stage in order for index in self._indices(stage)]

    def _indices(self, stage: Stage) -> list[int]:
        if stage.startswith("app_"):
            return list(range(len(self.applications)))
        responses = {app.workload for app in self.applications}
        return [
            index
            for index, dispatcher in enumerate(self.dispatchers)
            if stage != "disp_tx" or dispatcher.workload in responses
        ]

    @property
    def rings(self) -> int:
        """Rings between applications and dispatchers, both directions."""
        return 2 * sum(len(application.dispatchers) for application in self.applications)


def topologies(scenario: Scenario) -> list[Topology]:
    """The endpoints that run, server first."""
    return [_topology(scenario, side) for side in ("server", "client") if endpoint(scenario, side) is not None]


def endpoint(scenario: Scenario, side: Side) -> Client | Server | None:
    """The endpoint's keys; if both ends are ours, both sides are there even if the file names none."""
    if side == "client":
        return scenario.client or (Client() if both_sides(scenario) else None)
    return scenario.server or (Server() if both_sides(scenario) else None)


def both_sides(scenario: Scenario) -> bool:
    return has(scenario, "both_ends")


def two_processes(scenario: Scenario) -> bool:
    """Whether the peer can be outside of this process."""
    return has(scenario, "foreign_peer")


def workload_names(scenario: Scenario) -> list[str]:
    """One name each: the given one, else the handler's, numbered if it is taken."""
    names: list[str] = []
    given = {workload.name for workload in scenario.workload}
    for workload in scenario.workload:
        handler = (workload.handler or workload.packet_handler or "").rsplit("/", 1)[-1].removesuffix(".so")
        carrier = carrier_of(workload)
        plain = handler or (carrier.NAME if carrier else "workload")
        name, number = workload.name or plain, 2
        while not workload.name and (name in names or name in given):
            name, number = f"{plain}-{number}", number + 1
        names.append(name)
    return names


def request_bytes(scenario: Scenario, index: int) -> int:
    """UDP payload of a workload's largest request."""
    sizes = plan_sizes(scenario, index, "request")
    return max(sizes.bytes) if sizes else scenario.workload[index].request


def smallest_request_bytes(scenario: Scenario, index: int) -> int:
    """UDP payload of a workload's smallest request."""
    sizes = plan_sizes(scenario, index, "request")
    return min(sizes.bytes) if sizes else scenario.workload[index].request


def response_bytes(scenario: Scenario, index: int) -> int:
    """UDP payload of the largest response; a packet handler alone turns the request around."""
    workload = scenario.workload[index]
    if sizes := plan_sizes(scenario, index, "response"):
        return max(sizes.bytes)
    if workload.response is not None:
        return workload.response
    return DEFAULT_RESPONSE_BYTES if workload.handler else request_bytes(scenario, index)


def segments(message_bytes: int, keys: Client | Server) -> int:
    """Packets of a message: each repeats the message header, and its IP packet holds at most `mtu` bytes."""
    room = keys.mtu - ip_udp_header_bytes(keys) - MESSAGE_HEADER_BYTES
    return max(1, -(-(message_bytes - MESSAGE_HEADER_BYTES) // room))


def shared_out(scenario: Scenario, total: float, own: Sequence[float | None]) -> list[float]:
    """The client's total over the workloads by their shares; a workload with a value of its own takes no part."""
    weights = [workload.share if value is None else 0.0 for workload, value in zip(scenario.workload, own, strict=True)]
    whole = sum(weights) or 1.0
    return [total * weight / whole if value is None else value for weight, value in zip(weights, own, strict=True)]


def budgets(scenario: Scenario, client: Client) -> list[int]:
    """Messages that each workload may have in flight; no more than its carrier takes."""
    own = [workload.inflight for workload in scenario.workload]
    shared = [int(budget) for budget in shared_out(scenario, client.inflight, own)]
    return [
        min(budget, carrier.most_in_flight(workload)) if (carrier := carrier_of(workload)) else budget
        for budget, workload in zip(shared, scenario.workload, strict=True)
    ]


def rates(scenario: Scenario, client: Client) -> list[float | None]:
    """Messages per second that each workload offers, one with phases at its peak; None: closed loop."""
    own = [max((p.rate for p in workload.phase), default=workload.rate) for workload in scenario.workload]
    return own if client.rate is None else list(shared_out(scenario, client.rate, own))


def _topology(scenario: Scenario, side: Side) -> Topology:
    keys = endpoint(scenario, side)
    assert keys is not None
    applications: list[Application] = []
    dispatchers: list[Dispatcher] = []
    in_flight = budgets(scenario, keys) if isinstance(keys, Client) else [0] * len(scenario.workload)
    first_of_server = 0
    for index, workload in enumerate(scenario.workload):
        apps = _applications(workload, side)
        first = len(dispatchers)
        count = dispatchers_of(workload, side)
        peers = range(first_of_server, first_of_server := first_of_server + workload.dispatchers)
        for d in range(count):
            to = [peers[d]] if count == len(peers) else list(peers)
            dispatchers.append(Dispatcher(workload=index, queue=first + d, peers=to if side == "client" else []))
        for app in range(apps):
            budget = in_flight[index] // apps + (app < in_flight[index] % apps)
            used = [first + d for d in _used(app, apps, count, workload.groups)]
            applications.append(Application(workload=index, dispatchers=used, inflight=budget))
    return Topology(
        side, keys, tuple(applications), tuple(dispatchers), tuple(_colocated(w, side) for w in scenario.workload)
    )


def _used(app: int, apps: int, dispatchers: int, groups: Sequence[int] | None) -> list[int]:
    if groups and (sum(groups), len(groups)) == (apps, dispatchers):
        return [[d for d, size in enumerate(groups) for _ in range(size)][app]]
    return [app % dispatchers] if apps >= dispatchers else list(range(app, dispatchers, apps))


def _applications(workload: Workload, side: Side) -> int:
    if side == "client":
        return workload.client.apps or workload.apps
    return workload.apps if workload.handler or carrier_of(workload) else 0


def dispatchers_of(workload: Workload, side: Side) -> int:
    """Dispatchers, and so queues, of a workload on a side."""
    return (workload.client.dispatchers if side == "client" else None) or workload.dispatchers


def _colocated(workload: Workload, side: Side) -> bool:
    if side == "client" and workload.client.colocate is not None:
        return workload.client.colocate
    return workload.colocate
