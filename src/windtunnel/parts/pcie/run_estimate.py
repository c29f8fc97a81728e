"""PCIe traffic of a run's packets, by queue, estimated from the bursts that nic_rx and nic_tx counted.

On a wire without a NIC it is the traffic that a NIC would cause. On a NIC it is an estimate too. Sizes are the port's mean in whole
bytes, because a port counts bytes for all its queues together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from windtunnel.engine.plan import Endpoint
from windtunnel.engine.plan_values import Side
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import Settings, Traffic, estimate
from windtunnel.parts.pcie.facts import NicLink, recorded_link
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.measured import measured_with_run
from windtunnel.parts.pcie.nic import GENERIC, Nic, for_driver, load_nic, shipped_nic
from windtunnel.parts.pcie.observed_estimate import ports_of_observed
from windtunnel.parts.pcie.port_estimate import PortEstimate, Queue
from windtunnel.runs.joined import on_two_hosts
from windtunnel.runs.metrics import add, measured, ratio, seconds
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord
from windtunnel.scenario.nics import address_of

NOTHING: Mapping[str, Any] = MappingProxyType({})


def tightest(ports: Sequence[PortEstimate]) -> PortEstimate | None:
    """The port whose link would be full first; None if it is not known."""
    ceilings = [(ceiling, port) for port in ports if (ceiling := port.ceiling) is not None]
    return min(ceilings, key=lambda item: item[0])[1] if ceilings else None


def ports_of(
    run: Run, nic: str | None = None, settings: Mapping[str, Any] = NOTHING, link: Mapping[str, Any] = NOTHING
) -> list[PortEstimate]:
    """The ports of every engine of a run, over the windows that its metrics use. `nic`, `settings` and `link` (by the names of their
    fields) replace those of the scenario and of the host. Empty for an imported run. Raises UserError for an unknown NIC or link."""
    if run.record.observed:
        return ports_of_observed(run.record.observed, nic, settings, link)
    estimates = []
    for engine in run.record.engines:
        windows = measured(run.counted[engine.name])
        for endpoint in engine.plan.endpoints if windows else ():
            card = load_nic(nic) if nic else shipped_nic(_nic_of(run, engine, endpoint))
            negotiated = _negotiated(run, endpoint)
            known = negotiated.known if negotiated and not nic else {}
            port = _port(endpoint, windows, card, settings, known | dict(link))
            estimates.append(replace(port, upstream=negotiated.upstream if negotiated else ()))
    return sorted(estimates, key=lambda port: port.port)


def shown_ports(run: Run) -> list[PortEstimate]:
    """The ports of `ports_of` that a run's tables and pages show by default: on a NIC, of an endpoint whose scenario names one, or all if
    PCIe counters were read with the run. `windtunnel pcie estimate RUN` estimates the others."""
    counted = measured_with_run(run.path) is not None
    return [port for port in ports_of(run) if counted or not port.would_be or _named(run, port.port)]


def _named(run: Run, side: str) -> str | None:
    """The NIC that the scenario names for this side."""
    name: str | None = (run.record.scenario.get(side) or {}).get("nic_profile")
    return name


def _nic_of(run: Run, engine: EngineRecord, endpoint: Endpoint) -> str:
    """The scenario's NIC; if it names none, the one that represents the driver that ran."""
    if (named := _named(run, endpoint.side)) is not None:
        return named
    driver = engine.ready.drivers.get(endpoint.side, "") if engine.ready else ""
    return for_driver(driver) if "nic" in endpoint.port.traits else GENERIC


def _negotiated(run: Run, endpoint: Endpoint) -> NicLink | None:
    """What the host had read of the link of the NIC that ran; None if no NIC ran, or nothing was read."""
    host = run.record.host[endpoint.side] if on_two_hosts(run) else run.record.host
    return (
        recorded_link(host, address_of(endpoint.port.options.get("pci", ""))) if "nic" in endpoint.port.traits else None
    )


def _port(
    endpoint: Endpoint, windows: Sequence[Window], nic: Nic, changes: Mapping[str, Any], lane: Mapping[str, Any]
) -> PortEstimate:
    link = Link(**({"generation": nic.link.generation.number, "lanes": nic.link.lanes.number} | dict(lane)))
    port, would_be = endpoint.port, "nic" not in endpoint.port.traits
    finished = Settings(port.rx_free_thresh, port.tx_rs_thresh, port.rx_descriptors, port.tx_descriptors)
    settings = replace(finished, **changes)
    queues: list[Queue] = []
    try:
        for number, traffic in _traffic(endpoint, windows):
            queues.append(Queue(number, estimate(traffic, nic, settings, link)))
    except UserError as error:
        refused = f"{error.message}: {nic.name} would not start with it"
        return PortEstimate(endpoint.side, nic.name, nic.nic.title, would_be, link, (), refused)
    why_not = None if queues else "no packet passed during the measurement"
    return PortEstimate(endpoint.side, nic.name, nic.nic.title, would_be, link, queues, why_not)


def _traffic(endpoint: Endpoint, windows: Sequence[Window]) -> list[tuple[int | None, Traffic]]:
    """Queue -> its traffic; one entry for all if stages were not counted. Queues without packets are left out."""
    side, duration = endpoint.side, seconds(windows)
    ports = [port for window in windows for port in window.ports if port.endpoint == side]
    total = {name: sum(getattr(port, name) for port in ports) for name in _COUNTS}
    rx_size, tx_size = (_mean_size(total[f"{way}_bytes"], total[f"{way}_packets"]) for way in ("rx", "tx"))
    if not total["rx_packets"] and not total["tx_packets"]:
        return []
    bursts = _bursts(side, windows)
    if not bursts:
        rx, tx = (Batches.of_mean(total[f"{way}_packets"], total[f"{way}_bursts"]) for way in ("rx", "tx"))
        rx_pps, tx_pps = (ratio(total[f"{way}_packets"], duration) for way in ("rx", "tx"))
        return [(None, Traffic(rx_pps, tx_pps, rx_size, tx_size, rx, tx))]
    queues: list[tuple[int, Traffic]] = []
    for index, dispatcher in enumerate(endpoint.dispatchers):
        rx, tx = (Batches.of(bursts.get((stage, index), {})) for stage in ("nic_rx", "nic_tx"))
        if rx.bursts or tx.bursts:
            traffic = Traffic(
                ratio(rx.packets, duration),
                ratio(tx.packets, duration),
                rx_size if rx.bursts else None,
                tx_size if tx.bursts else None,
                rx,
                tx,
            )
            queues.append((dispatcher.queue, traffic))
    return [*sorted(queues, key=lambda item: item[0])]


_COUNTS = ("rx_packets", "rx_bytes", "rx_bursts", "tx_packets", "tx_bytes", "tx_bursts")


def _mean_size(bytes_: int, packets: int) -> float | None:
    """Mean size in whole bytes: bytes and packets are read at different moments at a window's ends, and a fraction would add a transfer."""
    return max(round(bytes_ / packets), 1) if packets and bytes_ else None


def _bursts(side: Side, windows: Sequence[Window]) -> dict[tuple[str, int], dict[int, int]]:
    """Stage and dispatcher -> packets a call -> calls."""
    groups: dict[tuple[str, int], list[dict[int, int]]] = {}
    for window in windows:
        for stage in window.stages:
            if stage.endpoint == side and stage.stage in ("nic_rx", "nic_tx") and stage.calls:
                groups.setdefault((stage.stage, stage.index), []).append(stage.burst)
    return {key: add(histograms) for key, histograms in groups.items()}
