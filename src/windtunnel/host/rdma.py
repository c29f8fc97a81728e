"""What the wire "rdma" finds here: the library, and the kernel's RDMA devices.

Devices are in /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband), RoCE ones included. A GID of zeros is an
empty place of the table.
"""

from pathlib import Path

from windtunnel.host.read import Part, text

DEVICES = "sys/class/infiniband"
LIBRARY = "usr/lib/*/libfabric.so.1"


class RdmaPort(Part):
    number: int
    state: str  # "ACTIVE"
    link_layer: str  # "Ethernet" for RoCE, "InfiniBand"
    gids: int  # places of its table that are in use


class RdmaDevice(Part):
    name: str
    ports: list[RdmaPort]

    @property
    def hinder(self) -> str | None:
        """Why nothing can go over it; None: something can."""
        active = [port for port in self.ports if port.state == "ACTIVE"]
        if not active:
            return f"{self.name} has no active port"
        return None if any(port.gids for port in active) else f"{self.name} has no GID"


class Rdma(Part):
    library: bool
    """Whether libfabric is installed; the engine has the wire if it was there when it was built."""
    devices: list[RdmaDevice]


def read_rdma(root: Path = Path("/")) -> Rdma:
    """Below `root`."""
    devices = [
        RdmaDevice(name=device.name, ports=[_port(port) for port in sorted((device / "ports").glob("*"))])
        for device in sorted((root / DEVICES).glob("*"))
    ]
    return Rdma(library=any(root.glob(LIBRARY)), devices=devices)


def _port(port: Path) -> RdmaPort:
    gids = [text(gid) or "" for gid in (port / "gids").glob("*")]
    return RdmaPort(
        number=int(port.name),
        state=(text(port / "state") or "unknown").partition(":")[2].strip() or "unknown",
        link_layer=text(port / "link_layer") or "unknown",
        gids=sum(bool(gid.strip("0:")) for gid in gids),
    )
