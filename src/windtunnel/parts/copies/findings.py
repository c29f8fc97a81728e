"""Findings about Intel DSA: the device and its queues, and what they need of CPU, kernel, IOMMU and memory.

They are shown on a host that has a DSA, or if the user asks for them. Recommendations are those of document 002.
"""

from windtunnel.errors import as_argument
from windtunnel.host.copy_engines import CopyEngine, KernelDevice, WorkQueue
from windtunnel.host.facts import Facts
from windtunnel.host.findings import Finding
from windtunnel.parts.copies.facts import GIGANTIC, NEEDED, OPTIONAL, DsaHost, GiganticPages, dsa_host_of, read_dsa_host

PAGES_PER_NODE = 4
"""Pages of 1 GiB that Intel's guide reserves on each node."""
IOMMU_ON = (
    'sudo grubby --update-kernel=ALL --args="intel_iommu=on,sm_on"   '
    "# then reboot; without grubby: GRUB_CMDLINE_LINUX in /etc/default/grub, and update-grub"
)


def judge(facts: Facts, has_engine: bool) -> list[Finding]:
    """The findings on a host with a DSA, else none. `has_engine` changes nothing."""
    host = dsa_host_of(facts)
    return _findings(facts, host) if host else []


def judge_if_asked(facts: Facts) -> list[Finding]:
    """What `judge` leaves out: the findings on a host without a DSA."""
    return [] if dsa_host_of(facts) else _findings(facts, read_dsa_host())


ASKED = {"copies": judge_if_asked}
"""For `host doctor --for`."""


def _findings(facts: Facts, host: DsaHost) -> list[Finding]:
    engines = [engine for engine in facts.copy_engines if engine.kind == "idxd"]
    devices = [engine.device for engine in engines if engine.device]
    has_queue = any(_serving(engine) for engine in engines)
    return [
        *([device_finding(engine) for engine in engines] or [_no_device()]),
        enqcmd(host, devices if not has_queue else []),
        kernel_options(host),
        iommu(host, devices),
        gigantic_pages(host.gigantic),
    ]


def _no_device() -> Finding:
    return Finding(
        subject="DSA",
        value="none",
        verdict="fair",
        meaning="copies by an engine can be modelled (the copier model), or made by DPDK's software engine (dma)",
    )


def device_finding(engine: CopyEngine) -> Finding:
    """Whether the device is as in the document: one queue that has all engines."""
    device = engine.device
    if device is None:
        return Finding(
            subject=f"DSA {engine.address}",
            value=f"its driver is {engine.driver or 'none'}",
            verdict="good" if not engine.hinders else "fair",
            meaning="DPDK sets up groups and queues by itself"
            if not engine.hinders
            else "it has no groups and no queues",
            remedy=None if not engine.hinders else "sudo modprobe idxd",
        )
    subject, value = f"DSA {device.name}", _value(engine, device)
    serving = _serving(engine)
    if not serving:
        meaning = "no queue is enabled for programs. The remedy gives one dedicated queue to all engines"
        return Finding(subject=subject, value=value, verdict="fair", meaning=meaning, remedy=device.set_up("dedicated"))
    count = max(_engines_of(device, queue) for queue in serving)
    if count < len(device.engines):
        meaning = f"a queue has {count} of {len(device.engines)} engines: it copies at a part of the device's rate"
        return Finding(subject=subject, value=value, verdict="fair", meaning=meaning, remedy=device.set_up("dedicated"))
    return Finding(subject=subject, value=value, verdict="good", meaning="a queue has all engines of the device")


def _serving(engine: CopyEngine) -> list[WorkQueue]:
    """Its queues that programs may use."""
    return [queue for queue in engine.queues if queue.enabled and queue.user]


def _engines_of(device: KernelDevice, queue: WorkQueue) -> int:
    return sum(group is not None and group == queue.group for group in device.engines.values())


def _value(engine: CopyEngine, device: KernelDevice) -> str:
    state = "enabled" if device.enabled else "disabled"
    queues = "; ".join(
        f"{queue.name} {queue.mode or 'of no mode'}, {queue.entries or 0} entries, "
        f"{'no group' if queue.group is None else f'group {queue.group} with {_engines_of(device, queue)} engines'}, "
        f"{'enabled' if queue.enabled else 'disabled'}, {'for programs' if queue.user else 'not for programs'}"
        for queue in engine.queues
        if queue.enabled or queue.entries
    )
    return f"{state}, {len(device.engines)} engines, {len(device.groups)} groups; {queues or 'no queue is set up'}"


def enqcmd(host: DsaHost, to_set_up: list[KernelDevice]) -> Finding:
    """Whether shared queues can be used. `to_set_up`: devices without a queue."""
    subject = "ENQCMD"
    if host.enqcmd is None:
        return Finding(
            subject=subject, value="not known", verdict="unknown", meaning="the kernel lists no flags of the CPU"
        )
    if not host.enqcmd:
        return Finding(
            subject=subject,
            value="not among the flags of the CPU",
            verdict="fair",
            meaning="queues must be dedicated, each to one program. BIOS: IIO Configuration, PCI ENQCMD/ENQCMDS",
        )
    return Finding(
        subject=subject,
        value="among the flags of the CPU",
        verdict="good",
        meaning="several programs can share a queue. DPDK takes dedicated ones only; the remedy is for other programs",
        remedy=to_set_up[0].set_up("shared") if to_set_up else None,
    )


def kernel_options(host: DsaHost) -> Finding:
    subject, options = "kernel options for DSA", host.kernel_options
    if options is None:
        return Finding(
            subject=subject,
            value="neither /proc/config.gz nor /boot/config-RELEASE can be read",
            verdict="unknown",
            meaning="whether the kernel has what the driver idxd needs is not known",
        )
    present = ", ".join(f"{name}={value}" for name, value in options.items())
    missing = [name for name in NEEDED if name not in options]
    off = [f"{name} ({use})" for name, use in OPTIONAL.items() if name not in options]
    value = "; ".join(
        f"{head} {listing}"
        for head, listing in (("missing:", ", ".join(missing)), ("off:", ", ".join(off)), ("on:", present))
        if listing
    )
    if not missing:
        return Finding(
            subject=subject, value=value, verdict="good", meaning="programs can have queues of the driver idxd"
        )
    switches = " ".join(f"--{'module' if name == 'INTEL_IDXD' else 'enable'} {name}" for name in missing)
    return Finding(
        subject=subject,
        value=value,
        verdict="fair",
        meaning="the driver idxd has no queue for programs; DPDK can take the whole device through vfio-pci",
        remedy=f"scripts/config {switches} && make olddefconfig   # in the kernel's source; then build, install and boot it",
    )


def iommu(host: DsaHost, devices: list[KernelDevice]) -> Finding:
    subject = "IOMMU"
    if not host.iommus:
        return Finding(
            subject=subject,
            value="off, or none",
            verdict="fair",
            meaning="no queue can use the addresses of a program. BIOS: IIO Configuration, Intel VT for directed IO",
            remedy=IOMMU_ON,
        )
    modes = {True: "scalable mode", False: "no scalable mode", None: "modes not known"}[host.scalable]
    domain = f"; the device's domain is {host.domain}" if host.domain else ""
    pasids = [device.pasid for device in devices if device.pasid is not None]
    pasid = f"; PASIDs {'on' if all(pasids) else 'off'}" if pasids else ""
    value = f"on ({', '.join(host.iommus)}), {modes}{domain}{pasid}"
    if host.scalable is False or (pasids and not all(pasids)):
        meaning = "a queue cannot use the addresses of a program: the driver idxd refuses it"
        return Finding(subject=subject, value=value, verdict="fair", meaning=meaning, remedy=IOMMU_ON)
    if not pasids:
        meaning = "whether a queue can use the addresses of a program shows once the driver idxd has the device"
        return Finding(subject=subject, value=value, verdict="unknown", meaning=meaning)
    return Finding(subject=subject, value=value, verdict="good", meaning="a queue can use the addresses of a program")


def gigantic_pages(nodes: list[GiganticPages]) -> Finding:
    subject = "pages of 1 GiB"
    if not nodes:
        meaning = "mbufs lie on smaller pages: more entries of the IOMMU's and the CPU's TLB"
        return Finding(subject=subject, value="not offered by the kernel", verdict="fair", meaning=meaning)
    value = "; ".join(f"node {pages.node}: {pages.reserved} reserved, {pages.free} free" for pages in nodes)
    if short := [pages.node for pages in nodes if pages.reserved < PAGES_PER_NODE]:
        reserve = [
            f"echo {PAGES_PER_NODE} | sudo tee {as_argument(f'/sys/devices/system/node/node{node}/{GIGANTIC}/nr_hugepages')}"
            for node in short
        ]
        mount = "sudo mkdir -p /dev/hugepages-1G && sudo mount -t hugetlbfs -o pagesize=1G,mode=1777 nodev /dev/hugepages-1G"
        return Finding(
            subject=subject,
            value=value,
            verdict="fair",
            meaning=f"Intel's guide reserves {PAGES_PER_NODE} on each node: elsewhere copies cross nodes, or use smaller pages",
            remedy=" && ".join([*reserve, mount]),
        )
    return Finding(subject=subject, value=value, verdict="good", meaning="each node has what Intel's guide reserves")
