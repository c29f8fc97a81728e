"""What the facts of a host have for the wire "rdma": the library, and the kernel's RDMA devices.

Devices are in /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband), RoCE ones included. A GID of zeros is an
empty entry of the table. sysfs has no MTU of RDMA: on Ethernet it follows from the network interface's, by the rule of the kernel's
iboe_get_mtu() (include/rdma/ib_addr.h).
"""

from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from windtunnel.host.read import Part, number, text

DEVICES = "sys/class/infiniband"
INTERFACES = "sys/class/net"
LIBRARY = "usr/lib/*/libfabric.so.1"
HEADERS = 96
"""Largest size in bytes of a RoCE packet's headers, for which the kernel reserves room."""
MTUS = (4096, 2048, 1024, 512, 256)


class RdmaGid(Part):
    """An address of a port."""

    index: int
    address: str  # "::ffff:10.9.0.1"
    kind: str | None  # "RoCE v2"
    interface: str | None  # of the network, for RoCE


class RdmaPort(Part):
    number: int
    state: str  # "ACTIVE"
    link_layer: str  # "Ethernet" for RoCE, "InfiniBand"
    interface: str | None  # of the network, for RoCE
    mtu: int | None
    """Largest size in bytes of a packet without headers; None: sysfs does not say."""
    gids: list[RdmaGid]


class RdmaDevice(Part):
    name: str
    ports: list[RdmaPort]

    @property
    def hinder(self) -> str | None:
        """Why it cannot carry traffic; None: it can."""
        active = [port for port in self.ports if port.state == "ACTIVE"]
        if not active:
            return f"{self.name} has no active port"
        return None if any(port.gids for port in active) else f"{self.name} has no GID"


class Rdma(Part):
    library: bool
    """Whether libfabric is installed; the engine has the wire if it was there when it was built."""
    devices: list[RdmaDevice]
    interfaces: list[str] = Field(default_factory=list)
    """Network interfaces on which a software device can be made."""


FACTS: dict[str, Any] = {"rdma": (Rdma, Field(default_factory=lambda: Rdma(library=False, devices=[])))}


def rdma_of(facts: Part) -> Rdma:
    """Those among the facts of a host."""
    return cast(Rdma, cast(Any, facts).rdma)


def read(root: Path) -> dict[str, Rdma]:
    """Reads the facts below `root`, for `FACTS`."""
    devices = [
        RdmaDevice(name=device.name, ports=[_port(root, port) for port in sorted((device / "ports").glob("[0-9]*"))])
        for device in sorted((root / DEVICES).glob("*"))
    ]
    interfaces = sorted(path.name for path in (root / INTERFACES).glob("*") if path.name != "lo")
    return {"rdma": Rdma(library=any(root.glob(LIBRARY)), devices=devices, interfaces=interfaces)}


def _port(root: Path, port: Path) -> RdmaPort:
    gids = [gid for path in _by_number(port / "gids") if (gid := _gid(port, path))]
    interface = next((gid.interface for gid in gids if gid.interface), None)
    return RdmaPort(
        number=int(port.name),
        state=(text(port / "state") or "unknown").partition(":")[2].strip() or "unknown",
        link_layer=text(port / "link_layer") or "unknown",
        interface=interface,
        mtu=_mtu(root, interface),
        gids=gids,
    )


def _by_number(table: Path) -> list[Path]:
    return sorted((path for path in table.glob("*") if path.name.isdigit()), key=lambda path: int(path.name))


def _gid(port: Path, path: Path) -> RdmaGid | None:
    try:
        address = IPv6Address(text(path) or "")
    except ValueError:
        return None
    if not int(address):
        return None
    mapped = address.ipv4_mapped
    return RdmaGid(
        index=int(path.name),
        address=f"::ffff:{mapped}" if mapped else str(address),
        kind=text(port / "gid_attrs/types" / path.name),
        interface=text(port / "gid_attrs/ndevs" / path.name),
    )


def _mtu(root: Path, interface: str | None) -> int | None:
    whole = number(root / INTERFACES / interface / "mtu") if interface else None
    return next((mtu for mtu in MTUS if mtu <= whole - HEADERS), None) if whole else None
