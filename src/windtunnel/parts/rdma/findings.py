"""Findings about RDMA: the library, devices, what providers offer, and memory that devices lock."""

from collections.abc import Sequence

from windtunnel.engine.find import find_engine, quickstart
from windtunnel.errors import UserError, as_argument
from windtunnel.host.facts import Facts
from windtunnel.host.findings import Finding, size
from windtunnel.host.judge_system import MORE_LOCKABLE, ROOM
from windtunnel.parts.rdma.facts import MTUS, Rdma, RdmaDevice, RdmaPort, rdma_of
from windtunnel.parts.rdma.query import RdmaOffer, rdma_offers

BUILD = f"sudo apt install libfabric-dev && {quickstart()}   # builds the engine again"
OURS = ("tcp", "udp", "shm", "efa")
"""Providers that the wire supports."""
NO_LIMIT = 1 << 62
"""Bytes from which on a provider's limit means no limit."""


def judge(facts: Facts, has_engine: bool) -> list[Finding]:
    """The findings about RDMA. `has_engine`: a working engine exists, which reports its libfabric by itself."""
    return [*judge_devices(facts, has_engine), *judge_providers()]


def judge_devices(facts: Facts, has_engine: bool) -> list[Finding]:
    """The findings about what the host has."""
    rdma = rdma_of(facts)
    devices = [device_finding(device) for device in rdma.devices] or [no_device(rdma)]
    libraries = [] if has_engine else [library(rdma)]
    return [*libraries, *devices, *([locked(facts)] if rdma.devices else [])]


def library(rdma: Rdma) -> Finding:
    if rdma.library:
        return Finding(
            subject="RDMA library", value="libfabric", verdict="good", meaning='the engine can have the wire "rdma"'
        )
    return Finding(
        subject="RDMA library",
        value="no libfabric",
        verdict="fair",
        meaning='the engine has no wire "rdma"',
        remedy=BUILD,
    )


def judge_providers() -> list[Finding]:
    """Asks the engine for libfabric's providers. One that does not respond is a finding of its own."""
    try:
        return [providers(rdma_offers(find_engine()))]
    except UserError:
        return []


def providers(offers: Sequence[RdmaOffer] | None) -> Finding:
    """The finding about libfabric's providers, as the engine reports them; None: it was built without libfabric."""
    subject = "RDMA providers"
    if offers is None:
        meaning = 'this engine was built without libfabric: it has no wire "rdma"'
        return Finding(subject=subject, value="not available", verdict="fair", meaning=meaning, remedy=BUILD)
    ours = {(offer.provider, offer.type): offer for offer in offers if offer.provider in OURS}
    unsupported = sorted({offer.provider for offer in offers if offer.provider not in OURS})
    value = "; ".join(_offer_text(offer) for offer in ours.values()) or "none"
    meaning = 'the wire "rdma" can use them' + (f"; it has no use for {', '.join(unsupported)}" if unsupported else "")
    return Finding(
        subject=subject,
        value=value,
        verdict="good" if ours else "fair",
        meaning=meaning if ours else 'the wire "rdma" has nothing to use',
        remedy=None if ours else "fi_info   # of the package libfabric-bin: why there are none",
    )


def _offer_text(offer: RdmaOffer) -> str:
    def at_most(count: int) -> str:
        return str(count) if count else "any number of"

    largest = f"{offer.largest} B" if offer.largest < NO_LIMIT else "any size"
    return (
        f"{offer.provider}: {offer.type}, messages of {largest}, {at_most(offer.most_sends)} sends and "
        f"{at_most(offer.most_receives)} receives per queue, {at_most(offer.endpoints)} queue pairs"
    )


def no_device(rdma: Rdma) -> Finding:
    interface = next(iter(rdma.interfaces), "eth0")
    return Finding(
        subject="RDMA devices",
        value="none",
        verdict="good",
        meaning="software providers (tcp, udp, shm) need none. The remedy makes a software RoCE device",
        remedy=f"sudo modprobe rdma_rxe && sudo rdma link add rxe0 type rxe netdev {as_argument(interface)}",
    )


def device_finding(device: RdmaDevice) -> Finding:
    subject = f"RDMA device {device.name}"
    value = "; ".join(_port(port) for port in device.ports) or "no port"
    interface = next((port.interface for port in device.ports if port.interface), None)
    if device.hinder:
        remedy = _remedy(device, interface or "eth0")
        return Finding(
            subject=subject,
            value=value,
            verdict="fair",
            meaning=f"{device.hinder}: nothing goes over it",
            remedy=remedy,
        )
    least = min((port.mtu for port in device.ports if port.mtu), default=MTUS[0])
    if least < MTUS[0]:
        meaning = f"ready; a datagram (ud) carries at most {least} bytes"
        remedy = f"sudo ip link set dev {as_argument(interface)} mtu 4200   # if the network carries it"
        return Finding(subject=subject, value=value, verdict="good", meaning=meaning, remedy=remedy)
    return Finding(subject=subject, value=value, verdict="good", meaning="ready")


def _port(port: RdmaPort) -> str:
    network = f" ({port.interface})" if port.interface else ""
    mtu = f"MTU {port.mtu}" if port.mtu else "MTU not available"
    gids = ", ".join(f"{gid.index} {gid.address}" + (f" ({gid.kind})" if gid.kind else "") for gid in port.gids)
    return f"port {port.number} {port.state}, {port.link_layer}{network}, {mtu}, GIDs {gids or 'none'}"


def _remedy(device: RdmaDevice, interface: str) -> str:
    if any(port.link_layer == "InfiniBand" for port in device.ports):
        return "sudo systemctl start opensm   # on one host of the network: a port is active once a subnet manager has seen it"
    if any(port.state == "ACTIVE" for port in device.ports):
        return f"sudo ip address add 192.0.2.1/24 dev {as_argument(interface)}   # an address of your network: it becomes a GID"
    return f"sudo ip link set dev {as_argument(interface)} up"


def locked(facts: Facts) -> Finding:
    limit = facts.memory.lockable_bytes
    value = limit if limit == "unlimited" else size(limit)
    if limit == "unlimited" or limit >= ROOM or facts.root:
        return Finding(subject="RDMA memory", value=value, verdict="good", meaning="a pool of mbufs can be registered")
    return Finding(
        subject="RDMA memory",
        value=f"{value} may be locked",
        verdict="fair",
        meaning=f"a device locks the whole pool of mbufs: up to {size(ROOM)} of a small scenario",
        remedy=MORE_LOCKABLE,
    )
