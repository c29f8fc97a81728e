"""Findings about memory, counters, DPDK, devices and permissions."""

from windtunnel.host.facts import Facts
from windtunnel.host.findings import Finding, size, spans
from windtunnel.host.memory import Memory

OLDEST_DPDK = (22, 11)
OLDEST_KERNEL = (4, 14)  # the oldest that DPDK 22.11 supports
WIRE_DRIVERS = ("net_ring", "net_null", "net_pcap", "net_af_packet", "net_memif", "net_af_xdp", "net_tap")
ROOM = 256 << 20  # the memory of a scenario as small as echo
MORE_LOCKABLE = "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/windtunnel.conf   # then log in again"
RESERVE = (
    "echo 512 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages && "
    "sudo mkdir -p /dev/hugepages && sudo mount -t hugetlbfs -o mode=1777 nodev /dev/hugepages"
)


def judge_system(facts: Facts, has_engine: bool = False) -> list[Finding]:
    """The findings about the system. `has_engine`: a working engine exists, built here or on another host."""
    return [
        pages(facts.memory),
        transparent(facts.memory),
        numa(facts),
        counters(facts),
        kernel(facts),
        dpdk(facts, has_engine),
        drivers(facts),
        nics(facts),
        copy_engines(facts),
        raw_sockets(facts),
        lockable(facts),
    ]


def pages(memory: Memory) -> Finding:
    huge = memory.hugepages
    mounts = ", ".join(f"{mount.path}{'' if mount.writable else ' (not writable)'}" for mount in huge.mounts)
    value = f"{size(huge.reserved_bytes)} reserved, {size(huge.free_bytes)} free, " + (
        f"mounted at {mounts}" if mounts else "not mounted"
    )
    if not huge.usable:
        return Finding(
            subject="hugepages",
            value=f"{value}; cannot be used: {huge.mapping.reason}",
            verdict="fair",
            meaning="runs use ordinary pages: slower, and not comparable with runs on hugepages",
            remedy=RESERVE,
        )
    if huge.free_bytes < ROOM:
        meaning = f"a small scenario takes up to {size(ROOM)}: it may not fit"
        return Finding(subject="hugepages", value=value, verdict="fair", meaning=meaning, remedy=RESERVE)
    if not any(mount.writable for mount in huge.mounts):
        return Finding(
            subject="hugepages",
            value=value,
            verdict="fair",
            meaning="one process can use them; two processes that share memory need a writable mount",
            remedy="sudo mkdir -p /dev/hugepages && sudo mount -t hugetlbfs -o mode=1777 nodev /dev/hugepages",
        )
    return Finding(subject="hugepages", value=value, verdict="good", meaning="few TLB misses, as in production")


def transparent(memory: Memory) -> Finding:
    subject = "transparent hugepages"
    if memory.transparent is None:
        return Finding(
            subject=subject, value="not available", verdict="unknown", meaning="the kernel does not report them"
        )
    if memory.transparent != "always":
        meaning = "the kernel does not collapse the engine's pages during a run"
        return Finding(subject=subject, value=memory.transparent, verdict="good", meaning=meaning)
    return Finding(
        subject=subject,
        value="always",
        verdict="fair",
        meaning="the kernel may collapse ordinary pages during a run: a gap, then lower cost",
        remedy="echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def numa(facts: Facts) -> Finding:
    nodes = [node for node in facts.cpus.topology.nodes if set(node.cpus) & set(facts.cpus.allowed)]
    value = "; ".join(f"node {node.node}: CPUs {spans(node.cpus)}" for node in nodes) or "not available"
    if not nodes:
        return Finding(subject="NUMA", value=value, verdict="unknown", meaning="the kernel reports no nodes")
    if len(nodes) == 1:
        return Finding(subject="NUMA", value=value, verdict="good", meaning="all memory is local")
    return Finding(
        subject="NUMA",
        value=value,
        verdict="fair",
        meaning="remote memory and remote NICs make cache misses slower: keep workers, memory and NIC on one node",
        remedy=f"taskset -c {spans(nodes[0].cpus)} windtunnel run scenarios/echo.toml",
    )


def counters(facts: Facts) -> Finding:
    missing: dict[str, list[str]] = {}
    for name, probe in facts.counters.items():
        if not probe.works:
            missing.setdefault(probe.reason or "no reason given", []).append(name)
    if not missing:
        names = ", ".join(facts.counters)
        return Finding(subject="hardware counters", value=names, verdict="good", meaning="cache misses can be measured")
    forbidden = any("not permitted" in reason for reason in missing)
    return Finding(
        subject="hardware counters",
        value="not available: " + "; ".join(f"{', '.join(names)} ({reason})" for reason, names in missing.items()),
        verdict="fair",
        meaning="time per stage is measured; its causes in the processor are not",
        remedy="sudo sysctl kernel.perf_event_paranoid=2" if forbidden else None,
    )


def kernel(facts: Facts) -> Finding:
    good = version(facts.kernel) >= OLDEST_KERNEL
    return Finding(
        subject="kernel",
        value=f"{facts.kernel}, {facts.architecture}, {facts.system}",
        verdict="good" if good else "bad",
        meaning="new enough for DPDK" if good else f"DPDK 22.11 asks for {'.'.join(map(str, OLDEST_KERNEL))} or later",
    )


def dpdk(facts: Facts, has_engine: bool) -> Finding:
    install = "sudo apt-get install --no-install-recommends libdpdk-dev"
    if facts.dpdk.version is None and has_engine:
        return Finding(
            subject="DPDK",
            value="that of the engine; no development files",
            verdict="good",
            meaning="scenarios can run; to build another engine takes libdpdk-dev",
        )
    if facts.dpdk.version is None:
        return Finding(
            subject="DPDK", value="not found", verdict="bad", meaning="the engine cannot be built", remedy=install
        )
    good = version(facts.dpdk.version) >= OLDEST_DPDK
    return Finding(
        subject="DPDK",
        value=facts.dpdk.version,
        verdict="good" if good else "bad",
        meaning="the version that the engine is built with" if good else "the engine asks for 22.11 or later",
        remedy=None if good else install,
    )


def drivers(facts: Facts) -> Finding:
    missing = [name for name in WIRE_DRIVERS if name not in facts.dpdk.drivers]
    if not facts.dpdk.drivers:
        return Finding(
            subject="drivers",
            value="none found in the usual places",
            verdict="unknown",
            meaning="DPDK may be linked statically or installed elsewhere; the engine reports it at start",
        )
    if missing:
        return Finding(
            subject="drivers",
            value="missing: " + ", ".join(missing),
            verdict="bad",
            meaning="these wires cannot be used",
            remedy="sudo apt-get install --no-install-recommends libdpdk-dev",
        )
    further = len(facts.dpdk.drivers) - len(WIRE_DRIVERS)
    return Finding(
        subject="drivers",
        value=f"{', '.join(WIRE_DRIVERS)} and {further} more",
        verdict="good",
        meaning="every emulated wire can be used",
    )


def nics(facts: Facts) -> Finding:
    usable = [nic for nic in facts.nics if nic.usable]
    listing = ", ".join(f"{nic.address} ({nic.device}, {nic.driver or 'no driver'})" for nic in usable or facts.nics)
    if usable:
        return Finding(subject="NICs", value=listing, verdict="good", meaning="ready for the pci wire")
    return Finding(
        subject="NICs",
        value=f"{listing or 'none'}; none is bound to a driver that DPDK can use",
        verdict="good",
        meaning="emulated wires need none; a scenario with the pci wire shows how to bind one",
    )


def copy_engines(facts: Facts) -> Finding:
    subject, engines = "copy engines", facts.copy_engines
    ready = [engine for engine in engines if not engine.hinders]
    if ready:
        value = ", ".join(f"{engine.address} ({engine.kind}, {engine.driver})" for engine in ready)
        return Finding(subject=subject, value=value, verdict="good", meaning="ready for the copier dma")
    if engines:
        return Finding(
            subject=subject,
            value="; ".join(f"{engine.address} ({engine.kind}): {', '.join(engine.hinders)}" for engine in engines),
            verdict="fair",
            meaning="DPDK cannot use them as they are: the copier dma has its software engine only",
            remedy=engines[0].remedy,
        )
    spare = len(facts.cpus.allowed) > 1
    return Finding(
        subject=subject,
        value="none of Intel's (DSA, QuickData)",
        verdict="good" if spare else "fair",
        meaning="the copier dma has its software engine, "
        + ("on another CPU" if spare else "and no CPU is left for it"),
    )


def raw_sockets(facts: Facts) -> Finding:
    if facts.raw_sockets.works:
        return Finding(subject="raw sockets", value="allowed", verdict="good", meaning="the af_packet wire can be used")
    return Finding(
        subject="raw sockets",
        value=facts.raw_sockets.reason or "refused",
        verdict="fair",
        meaning="scenarios with the kernel as peer (af_packet, af_xdp, tap) cannot run; all others can",
        remedy="sudo ./windtunnel run scenarios/kernel-ping.toml",
    )


def lockable(facts: Facts) -> Finding:
    limit = facts.memory.lockable_bytes
    if limit == "unlimited" or limit >= ROOM or facts.root:
        value = "unlimited" if limit == "unlimited" else size(limit)
        return Finding(subject="lockable memory", value=value, verdict="good", meaning="sufficient")
    return Finding(
        subject="lockable memory",
        value=size(limit),
        verdict="fair",
        meaning="emulated wires need none; NICs through vfio-pci lock all their memory",
        remedy=MORE_LOCKABLE,
    )


def version(text: str) -> tuple[int, int]:
    """The first two numbers of "22.11.11-0+deb12u1"; (0, 0) if there are none."""
    parts = text.split(".")
    try:
        return int(parts[0]), int(parts[1].partition("-")[0])
    except (IndexError, ValueError):
        return 0, 0
