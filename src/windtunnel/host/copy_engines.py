"""Copy engines beside the cores, and why DPDK cannot use one.

PCI identifiers are those of DPDK's drivers idxd and ioat (drivers/dma, 25.11). Work queues that the kernel's idxd driver has set up are in
/sys/bus/dsa/devices (Documentation/ABI/stable/sysfs-driver-dma-idxd); DPDK takes those of type user whose names begin with "dpdk_", through
/dev/dsa (drivers/dma/idxd/idxd_bus.c). Not tried on hardware.
"""

import os
from pathlib import Path
from typing import Literal

from windtunnel.errors import as_argument
from windtunnel.host.dpdk import PCI, USER_SPACE_DRIVERS
from windtunnel.host.read import Part, text

Kind = Literal["idxd", "ioat"]
INTEL = "8086"
IDXD = ("0b25", "11fb", "1212")
"""Intel DSA of Sapphire Rapids and later."""
IOAT = ("0b00", "2021", "6f2e", "6f2f", *(f"6f2{n}" for n in range(8)))
"""Intel QuickData of Ice Lake, Skylake and Broadwell servers."""
KERNEL_DRIVER = "idxd"
OURS = "dpdk_"
DEVICES = "dev/dsa"


class WorkQueue(Part):
    """A queue of the kernel's idxd driver."""

    name: str  # of its file, "wq0.0"
    label: str  # that its owner gave it, "dpdk_app1"
    enabled: bool
    user: bool  # whether programs may use it
    usable: bool  # whether this user may open it

    @property
    def hinder(self) -> str | None:
        """Why DPDK does not use it; None: it does."""
        if not self.enabled:
            return f"{self.name} is not enabled"
        if not self.user:
            return f"{self.name} is not of type user"
        if not self.label.startswith(OURS):
            return f'{self.name} is called "{self.label}", DPDK takes names that begin with "{OURS}"'
        return None if self.usable else f"no permission to open /{DEVICES}/{self.name}"


class CopyEngine(Part):
    address: str
    kind: Kind
    driver: str | None
    queues: list[WorkQueue]  # of the kernel's driver

    @property
    def hinders(self) -> list[str]:
        """Reasons why DPDK cannot use it; empty: it is ready."""
        if self.driver in USER_SPACE_DRIVERS:
            return []
        if self.kind == "idxd" and self.driver == KERNEL_DRIVER:
            reasons = [queue.hinder for queue in self.queues]
            return [] if None in reasons else [hinder for hinder in reasons if hinder] or ["no work queue is set up"]
        return [f"its driver is {self.driver or 'none'}"]

    @property
    def remedy(self) -> str:
        """A command that removes one of the reasons."""
        if self.driver != KERNEL_DRIVER:
            return f"sudo dpdk-devbind.py -b vfio-pci {as_argument(self.address)}"
        closed = [queue.name for queue in self.queues if queue.enabled and queue.user and queue.label.startswith(OURS)]
        if closed:
            return f"sudo chown $USER {as_argument(f'/{DEVICES}/{closed[0]}')}"
        return f"sudo accel-config config-wq ... --type=user --name={OURS}one   # then enable-device and enable-wq"


def read_copy_engines(root: Path = Path("/")) -> list[CopyEngine]:
    """The copy engines on the PCI bus below `root`."""
    engines = []
    for device in sorted((root / PCI).glob("*")):
        kind = _kind(device)
        if kind is None:
            continue
        driver = (device / "driver").resolve().name if (device / "driver").exists() else None
        engines.append(CopyEngine(address=device.name, kind=kind, driver=driver, queues=_queues(root, device)))
    return engines


def _kind(device: Path) -> Kind | None:
    vendor, number = ((text(device / part) or "").removeprefix("0x") for part in ("vendor", "device"))
    if vendor != INTEL:
        return None
    return "idxd" if number in IDXD else "ioat" if number in IOAT else None


def _queues(root: Path, device: Path) -> list[WorkQueue]:
    """The kernel puts a device's queues below it: dsa0/wq0.0."""
    return [
        WorkQueue(
            name=queue.name,
            label=text(queue / "name") or "",
            enabled=text(queue / "state") == "enabled",
            user=text(queue / "type") == "user",
            usable=os.access(root / DEVICES / queue.name, os.R_OK | os.W_OK),
        )
        for queue in sorted(device.glob("dsa*/wq*"))
    ]
