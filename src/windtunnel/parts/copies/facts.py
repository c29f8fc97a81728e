"""What the facts of a host have more if it has an Intel DSA: what its work queues need of kernel, IOMMU, CPU and memory.

Kernel options are those of document 002, and what each is for is in drivers/dma/Kconfig and drivers/iommu/intel/Kconfig of Linux. IOMMUs are in
/sys/class/iommu (Documentation/ABI/testing/sysfs-class-iommu-intel-iommu), the mode of a device's domain in iommu_group/type
(sysfs-kernel-iommu_groups), pages of a node in /sys/devices/system/node (Documentation/ABI/stable/sysfs-devices-node). Not tried on hardware.
"""

import gzip
import platform
import zlib
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from windtunnel.host.copy_engines import read_copy_engines
from windtunnel.host.cpus import cpuinfo
from windtunnel.host.dpdk import PCI
from windtunnel.host.read import Part, number, text
from windtunnel.proc import lines

NEEDED = (
    "INTEL_IDXD",
    "INTEL_IDXD_BUS",
    "INTEL_IDXD_SVM",
    "INTEL_IOMMU",
    "INTEL_IOMMU_SVM",
    "PCI_ATS",
    "PCI_PRI",
    "PCI_PASID",
    "DMA_ENGINE",
)
"""Options without which the kernel's idxd driver has no queue for programs."""
OPTIONAL = {
    "INTEL_IDXD_COMPAT": "accel-config before 3.2",
    "INTEL_IDXD_PERFMON": "counters of the device",
    "IRQ_REMAP": "interrupts through the IOMMU",
    "DMATEST": "a test of the driver",
    "VFIO_MDEV_IDXD": "queues of guests, in Intel's kernels only",
    "IMS_MSI": "queues of guests, in Intel's kernels only",
    "IMS_MSI_ARRAY": "queues of guests, in Intel's kernels only",
}
"""The other ones of the document, and what each is for."""
SCALABLE_MODE = 1 << 43
"""Of an IOMMU's extended capabilities: scalable mode, which has PASIDs (VT-d specification, 11.4.3)."""
IOMMUS = "sys/class/iommu"
GIGANTIC = "hugepages/hugepages-1048576kB"


class GiganticPages(Part):
    """The pages of 1 GiB of a NUMA node."""

    node: int
    reserved: int
    free: int


class DsaHost(Part):
    enqcmd: bool | None  # whether the CPU can submit to shared queues; None: not known
    kernel_options: dict[str, str] | None = Field(
        description="y, m or a value, without those that are off; null: not known"
    )
    iommus: list[str]  # "dmar0"
    scalable: bool | None  # whether an IOMMU has scalable mode; None: not known
    domain: str | None  # of the first DSA: "DMA", "DMA-FQ", "identity"
    gigantic: list[GiganticPages]  # of nodes; empty: the kernel has no such pages


FACTS: dict[str, Any] = {"dsa_host": (DsaHost | None, None)}


def dsa_host_of(facts: Part) -> DsaHost | None:
    """Those among the facts of a host; None: it has no DSA."""
    return cast(DsaHost | None, cast(Any, facts).dsa_host)


def read(root: Path) -> dict[str, DsaHost | None]:
    """Reads the facts below `root`, for `FACTS`: on a host with a DSA."""
    has_dsa = any(engine.kind == "idxd" for engine in read_copy_engines(root))
    return {"dsa_host": read_dsa_host(root) if has_dsa else None}


def read_dsa_host(root: Path = Path("/")) -> DsaHost:
    """What a DSA would need of this host, whether it has one or not."""
    flags = cpuinfo(text(root / "proc/cpuinfo") or "").get("flags")
    capabilities = [_hexadecimal(path) for path in (root / IOMMUS).glob("*/intel-iommu/ecap")]
    addresses = [engine.address for engine in read_copy_engines(root) if engine.kind == "idxd"]
    return DsaHost(
        enqcmd=None if flags is None else "enqcmd" in flags.split(),
        kernel_options=kernel_options(root, platform.release()),
        iommus=sorted(path.name for path in (root / IOMMUS).glob("*")),
        scalable=None
        if not capabilities or None in capabilities
        else any(x & SCALABLE_MODE for x in capabilities if x),
        domain=text(root / PCI / addresses[0] / "iommu_group/type") if addresses else None,
        gigantic=_gigantic(root),
    )


def _hexadecimal(file: Path) -> int | None:
    try:
        return int(text(file) or "", 16)
    except ValueError:
        return None


def kernel_options(root: Path, release: str) -> dict[str, str] | None:
    """Those of the running kernel that document 002 names, as /proc/config.gz or /boot/config-RELEASE has them; None: neither can be read."""
    content = _config_gz(root / "proc/config.gz") or text(root / f"boot/config-{release}")
    if content is None:
        return None
    pairs = (line.partition("=") for line in lines(content) if line.startswith("CONFIG_"))
    options = {name.removeprefix("CONFIG_"): value for name, _, value in pairs}
    return {name: options[name] for name in (*NEEDED, *OPTIONAL) if name in options}


def _config_gz(file: Path) -> str | None:
    try:
        return gzip.decompress(file.read_bytes()).decode(errors="replace")
    except (OSError, EOFError, zlib.error):
        return None


def _gigantic(root: Path) -> list[GiganticPages]:
    pages = []
    for node in (root / "sys/devices/system/node").glob("node[0-9]*"):
        reserved, free = number(node / GIGANTIC / "nr_hugepages"), number(node / GIGANTIC / "free_hugepages")
        if reserved is not None and free is not None:
            pages.append(GiganticPages(node=int(node.name.removeprefix("node")), reserved=reserved, free=free))
    return sorted(pages, key=lambda of_node: of_node.node)
