"""What the facts of a host have of PCIe: the links of its NICs, as they were negotiated.

sysfs has speed and width, those of now and the most (Documentation/ABI/testing/sysfs-bus-pci). Payload and read request sizes are in Device Control of
the PCI Express capability (PCI Express Base Specification 5.0, section 7.5.3.4). The kernel shows root the whole configuration space, and
everybody else its first 64 bytes, where no capability is.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import Field, ValidationError

from windtunnel.host.dpdk import PCI, is_nic
from windtunnel.host.read import Part, number, text
from windtunnel.parts.pcie.link import GIGATRANSFERS, LANES

STATUS, FIRST_CAPABILITY = 0x06, 0x34
HAS_CAPABILITIES = 0x10
"""Of the status register."""
PCI_EXPRESS = 0x10
"""Number of the capability."""
DEVICE_CONTROL = 8
"""Its place in the capability."""
MOST_CAPABILITIES = 48
"""As the kernel: a list in 256 bytes cannot be longer, but may be a circle."""


class NicLink(Part):
    """A NIC's link. None: it has none, as an emulated NIC, or this user cannot read it."""

    address: str
    generation: int | None
    lanes: int | None
    most_generation: int | None = Field(description="of the card")
    most_lanes: int | None
    mps: int | None = Field(description="maximum payload size, bytes")
    mrrs: int | None = Field(description="maximum read request size, bytes")
    upstream: tuple[str, ...] = Field(
        (), description='its root bus, as in "0000:3a", and the bridges above it, the root port first'
    )

    @property
    def known(self) -> dict[str, int]:
        """What was read of the link, by the names of `Link`."""
        values = {"generation": self.generation, "lanes": self.lanes, "mps": self.mps, "mrrs": self.mrrs}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def is_below_most(self) -> bool:
        """Whether the card could have more lanes or a higher speed."""
        lanes, speed = (self.lanes, self.most_lanes), (self.generation, self.most_generation)
        return any(now is not None and most is not None and now < most for now, most in (lanes, speed))


FACTS: dict[str, Any] = {"pcie_links": (list[NicLink], Field(default_factory=list))}


def links_of(facts: Part) -> list[NicLink]:
    """Those among the facts of a host."""
    return cast(list[NicLink], cast(Any, facts).pcie_links)


def recorded_link(host: Mapping[str, Any], address: str | None) -> NicLink | None:
    """The link of a NIC among the facts that a run has recorded; None: they do not have it."""
    links = host.get("pcie_links")
    for link in links if isinstance(links, list) else ():
        try:
            found = NicLink.model_validate(link)
        except ValidationError:
            continue
        if found.address == address:
            return found
    return None


def read(root: Path) -> dict[str, list[NicLink]]:
    """Reads the facts below `root`, for `FACTS`: NICs with a link."""
    links = [_link(device) for device in sorted((root / PCI).glob("*")) if is_nic(device)]
    return {"pcie_links": [link for link in links if link.known]}


def _link(device: Path) -> NicLink:
    control = _device_control(device)
    return NicLink(
        address=device.name,
        generation=_generation(device / "current_link_speed"),
        lanes=_lanes(device / "current_link_width"),
        most_generation=_generation(device / "max_link_speed"),
        most_lanes=_lanes(device / "max_link_width"),
        mps=None if control is None else _size(control >> 5),
        mrrs=None if control is None else _size(control >> 12),
        upstream=_upstream(device.resolve()),
    )


def _upstream(device: Path) -> tuple[str, ...]:
    """Of a path as /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0."""
    above = [directory.name for directory in reversed(device.parents)]
    root = next((place for place, name in enumerate(above) if name.startswith("pci")), None)
    return () if root is None else (above[root].removeprefix("pci"), *above[root + 1 :])


def _generation(file: Path) -> int | None:
    """Of "8.0 GT/s PCIe"; None also for "Unknown"."""
    speed = (text(file) or "").partition(" ")[0]
    return next((generation for generation, giga in GIGATRANSFERS.items() if speed == str(giga)), None)


def _lanes(file: Path) -> int | None:
    """None also for 0, which a virtual function has, and 255, which the kernel says of a link that is down."""
    lanes = number(file)
    return lanes if lanes in LANES else None


def _size(code: int) -> int | None:
    """Bytes of the three bits of a size; None for the two codes that are reserved."""
    size: int = 128 << (code & 7)
    return size if size <= 4096 else None


def _device_control(device: Path) -> int | None:
    """None: there is no PCI Express capability in what can be read."""
    try:
        space = (device / "config").read_bytes()
    except OSError:
        return None
    if len(space) < 256 or not space[STATUS] & HAS_CAPABILITIES:
        return None
    place = space[FIRST_CAPABILITY] & ~3
    for _ in range(MOST_CAPABILITIES):
        if place < 0x40 or place + DEVICE_CONTROL + 2 > 256:
            return None
        if space[place] == PCI_EXPRESS:
            return int.from_bytes(space[place + DEVICE_CONTROL : place + DEVICE_CONTROL + 2], "little")
        place = space[place + 1] & ~3
    return None
