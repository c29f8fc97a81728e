"""DPDK as it is installed, and the network devices that it could drive."""

import os
import sysconfig
from pathlib import Path

from windtunnel.host.read import Part, number, text
from windtunnel.proc import lines

NETWORK_CLASS = "0x02"
USER_SPACE_DRIVERS = ("vfio-pci", "uio_pci_generic", "igb_uio")
SHARING_DRIVERS = ("mlx5_core", "mlx4_core")
"""Kernel drivers that share the NIC with DPDK."""
PCI = "sys/bus/pci/devices"
GLOBAL_SCOPE = "00"


class Dpdk(Part):
    version: str | None  # of the development files, as pkg-config finds them; None: not installed
    drivers: list[str]  # net drivers found beside the libraries: "net_null"


class Nic(Part):
    address: str
    device: str  # vendor:device
    driver: str | None
    interfaces: list[str]
    numa_node: int | None
    iommu: bool  # whether it is behind an IOMMU
    addressed: list[str]  # interfaces with an IP address

    @property
    def bound(self) -> bool:
        """Whether it was taken from the kernel for a user-space driver."""
        return self.driver in USER_SPACE_DRIVERS

    @property
    def usable(self) -> bool:
        """Whether DPDK can use it as it is bound."""
        return self.bound or self.driver in SHARING_DRIVERS


def library_directories(root: Path) -> list[Path]:
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    return [
        root / prefix / directory
        for prefix in ("usr/local", "usr")
        for directory in (f"lib/{multiarch}", "lib64", "lib")
        if multiarch or not directory.endswith("/")
    ]


def read_dpdk(root: Path = Path("/")) -> Dpdk:
    libraries = library_directories(root)
    named = [Path(entry) for entry in os.environ.get("PKG_CONFIG_PATH", "").split(os.pathsep) if entry]
    versions = (pkg_config_version(place / "libdpdk.pc") for place in (*named, *(d / "pkgconfig" for d in libraries)))
    drivers = {
        library.name.split(".")[0].removeprefix("librte_")
        for directory in libraries
        for library in directory.glob("dpdk/pmds-*/librte_net_*.so*")
    }
    return Dpdk(version=next(filter(None, versions), None), drivers=sorted(drivers))


def pkg_config_version(file: Path) -> str | None:
    for line in lines(text(file) or ""):
        if line.startswith("Version:"):
            return line.partition(":")[2].strip()
    return None


def read_nics(root: Path = Path("/")) -> list[Nic]:
    nics = []
    addressed = addressed_interfaces(root)
    for device in sorted((root / PCI).glob("*")):
        if not is_nic(device):
            continue
        node = number(device / "numa_node")
        interfaces = sorted(interface.name for interface in (*device.glob("net/*"), *device.glob("virtio*/net/*")))
        nics.append(
            Nic(
                address=device.name,
                device=":".join((text(device / part) or "?").removeprefix("0x") for part in ("vendor", "device")),
                driver=(device / "driver").resolve().name if (device / "driver").exists() else None,
                interfaces=interfaces,
                numa_node=None if node == -1 else node,  # -1 is the kernel's "no node"
                iommu=(device / "iommu_group").exists(),
                addressed=[name for name in interfaces if name in addressed],
            )
        )
    return nics


def read_others(root: Path = Path("/")) -> list[str]:
    """Addresses of the PCI devices that are no NICs."""
    return [device.name for device in sorted((root / PCI).glob("*")) if not is_nic(device)]


def is_nic(device: Path) -> bool:
    return (text(device / "class") or "").startswith(NETWORK_CLASS)


def addressed_interfaces(root: Path) -> set[str]:
    """Interfaces with an IPv4 route, which every IPv4 address has, or with an IPv6 address of global scope."""
    routes = lines(text(root / "proc/net/route") or "")[1:]
    addresses = (line.split() for line in lines(text(root / "proc/net/if_inet6") or ""))
    return {line.split()[0] for line in routes if line} | {row[5] for row in addresses if row[3] == GLOBAL_SCOPE}
