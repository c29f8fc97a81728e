"""Copy engines beside the cores, and why DPDK cannot use one.

PCI identifiers are those of DPDK's drivers idxd and ioat (drivers/dma, 25.11). Work queues that the kernel's idxd driver has set up are in
/sys/bus/dsa/devices (Documentation/ABI/stable/sysfs-driver-dma-idxd); DPDK takes those of type user whose names begin with "dpdk_", through
/dev/dsa (drivers/dma/idxd/idxd_bus.c). It submits with MOVDIR64B (idxd_common.c), which dedicated queues take; shared ones want ENQCMD. Not tried
on hardware.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from windtunnel.errors import as_argument
from windtunnel.host.dpdk import PCI, USER_SPACE_DRIVERS
from windtunnel.host.read import Part, number, text

Kind = Literal["idxd", "ioat"]
Mode = Literal["dedicated", "shared"]
INTEL = "8086"
IDXD = ("0b25", "11fb", "1212")
"""Intel DSA of Sapphire Rapids and later."""
IOAT = ("0b00", "2021", "6f2e", "6f2f", *(f"6f2{n}" for n in range(8)))
"""Intel QuickData of Ice Lake, Skylake and Broadwell servers."""
KERNEL_DRIVER = "idxd"
OURS = "dpdk_"
DEVICES = "dev/dsa"
LARGEST_QUEUE = 128
"""Entries of all queues of a device of Sapphire Rapids, for one that does not report them."""


class WorkQueue(Part):
    """A queue of the kernel's idxd driver."""

    name: str  # of its file, "wq0.0"
    label: str  # that its owner gave it, "dpdk_app1"
    enabled: bool
    user: bool  # whether programs may use it
    usable: bool  # whether this user may open it
    mode: str | None = None  # "dedicated", "shared"
    entries: int | None = None
    group: int | None = None  # None: in no group

    @property
    def wrong(self) -> str | None:
        """Why DPDK does not take it, whoever runs it; None: it does."""
        if not self.enabled:
            return f"{self.name} is not enabled"
        if not self.user:
            return f"{self.name} is not of type user"
        if not self.label.startswith(OURS):
            return f'{self.name} is called "{self.label}", DPDK takes names that begin with "{OURS}"'
        return f"{self.name} is shared, DPDK's driver takes dedicated queues" if self.mode == "shared" else None

    @property
    def hinder(self) -> str | None:
        """Why DPDK does not use it; None: it does."""
        closed = None if self.usable else f"no permission to open /{DEVICES}/{self.name}"
        return self.wrong or closed


class KernelDevice(Part):
    """A DSA as the kernel's idxd driver has it."""

    name: str  # "dsa0"
    enabled: bool
    engines: dict[str, int | None]  # name and group; None: in no group
    groups: list[str]
    entries: int = Field(description="of all its queues together")
    pasid: bool | None  # whether a program's own addresses can be used, which a queue of type user needs
    names_drivers: bool  # whether a queue names its driver, as since Linux 6.7

    def set_up(self, mode: Mode) -> str:
        """The commands that give all its engines one queue with all its entries. Source: accel-config-config-wq(1), config-engine(1)."""
        number = self.name.removeprefix("dsa")
        queue = as_argument(f"{self.name}/wq{number}.0")
        options = ["--group-id=0", f"--mode={mode}", f"--wq-size={self.entries}", "--priority=10", "--type=user"]
        options += [f"--threshold={self.entries - 1}"] if mode == "shared" else []
        options += [f"--name={OURS}one" if mode == "dedicated" else "--name=shared_one"]
        options += ["--driver-name=user"] if self.names_drivers else []
        commands = [
            *([f"disable-device {as_argument(self.name)}"] if self.enabled else []),
            *(f"config-engine {as_argument(f'{self.name}/{engine}')} --group-id=0" for engine in self.engines),
            f"config-wq {queue} {' '.join(options)}",
            f"enable-device {as_argument(self.name)}",
            f"enable-wq {queue}",
        ]
        return " && ".join(f"sudo accel-config {command}" for command in commands)


class CopyEngine(Part):
    address: str
    kind: Kind
    driver: str | None
    queues: list[WorkQueue]  # of the kernel's driver
    device: KernelDevice | None = None  # None: the kernel's idxd driver does not have it

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
        closed = [queue.name for queue in self.queues if not queue.wrong]
        if closed:
            return f"sudo chown $USER {as_argument(f'/{DEVICES}/{closed[0]}')}"
        return (
            self.device.set_up("dedicated")
            if self.device
            else "sudo dmesg | grep idxd   # why its driver shows no device"
        )


def read_copy_engines(root: Path = Path("/")) -> list[CopyEngine]:
    """The copy engines on the PCI bus below `root`."""
    engines = []
    for device in sorted((root / PCI).glob("*")):
        kind = _kind(device)
        if kind is None:
            continue
        driver = (device / "driver").resolve().name if (device / "driver").exists() else None
        engines.append(
            CopyEngine(
                address=device.name,
                kind=kind,
                driver=driver,
                queues=_queues(root, device),
                device=_kernel_device(device),
            )
        )
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
            mode=text(queue / "mode"),
            entries=number(queue / "size"),
            group=_group(queue),
        )
        for queue in sorted(device.glob("dsa*/wq*"))
    ]


def _kernel_device(device: Path) -> KernelDevice | None:
    place = next(iter(sorted(device.glob("dsa*"))), None)
    if place is None:
        return None
    pasid = number(place / "pasid_enabled")
    return KernelDevice(
        name=place.name,
        enabled=text(place / "state") == "enabled",
        engines={engine.name: _group(engine) for engine in sorted(place.glob("engine*"))},
        groups=sorted(group.name for group in place.glob("group*")),
        entries=number(place / "max_work_queues_size") or LARGEST_QUEUE,
        pasid=None if pasid is None else pasid == 1,
        names_drivers=any(place.glob("wq*/driver_name")),
    )


def _group(place: Path) -> int | None:
    """The group of an engine or a queue; the kernel says -1 for none."""
    group = number(place / "group_id")
    return None if group == -1 else group
