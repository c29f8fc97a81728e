"""NICs of the wire `pci`: there, NICs indeed, with a driver that lets DPDK in, and near the CPUs that use them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windtunnel.engine.plan import Side
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import Placed, cpu_list
from windtunnel.scenario.refusal import Refusal

if TYPE_CHECKING:
    from windtunnel.host.dpdk import Nic

SIDES = ("server", "client")


def check_nics(scenario: Scenario, host: HostView, alone: Side | None = None) -> None:
    """`alone`: the only side that flies here. Raises Refusal for the first NIC that DPDK cannot have; what the host does not show is left to the engine."""
    client, server = scenario.client, scenario.server
    if alone is None and client and server and client.pci == server.pci:  # two hosts may well have the same address
        remedy = "a NIC for each of them, or --side on two hosts"
        raise Refusal(("client", "pci"), f"client and server have the same NIC {client.pci}", remedy)
    if host.nics is None:
        return
    for side in SIDES:
        keys = getattr(scenario, side) if alone in (None, side) else None
        if keys is None:
            continue
        nic = _at(keys.pci, host)
        if nic is None:
            raise Refusal((side, "pci"), _absence(keys.pci, host), _those_there(host.nics))
        if not nic.usable:
            raise Refusal((side, "pci"), _owner(nic), _binding(nic))


def far_nics(scenario: Scenario, host: HostView, placed: Sequence[Placed]) -> list[str]:
    """A note for every NIC that some of its endpoint's CPUs reach only through another NUMA node."""
    notes = []
    for side in SIDES:
        nic = _at(getattr(getattr(scenario, side), "pci", None), host)
        if nic is None or nic.numa_node is None:
            continue
        cpus = {stage.cpu for stage in placed if stage.side == side}
        near = {cpu for node in host.numa if node.node == nic.numa_node for cpu in node.cpus}
        if near and cpus - near:
            notes.append(
                f"NIC {nic.address} of the {side} is on NUMA node {nic.numa_node}, CPU {cpu_list(cpus - near)} is not: every "
                f"packet crosses; {side}.cores from {cpu_list(near)} would not"
            )
    return notes


def _at(address: str | None, host: HostView) -> "Nic | None":
    return next((nic for nic in host.nics or [] if nic.address == address), None)


def _absence(address: str, host: HostView) -> str:
    if address in host.other_devices:
        return f"{address} is no NIC: its class is another"
    return f"no device has the PCI address {address}"


def _those_there(nics: "Sequence[Nic]") -> str:
    there = ", ".join(f"{nic.address} ({nic.driver or 'no driver'})" for nic in nics)
    return f"one of {there}" if there else "this machine has no NIC on its PCI bus"


def _owner(nic: "Nic") -> str:
    if nic.driver is None:
        return f"NIC {nic.address} is bound to no driver"
    names = f" as {', '.join(nic.interfaces)}" if nic.interfaces else ""
    return f"NIC {nic.address} belongs to the kernel{names}: it is bound to {nic.driver}"


def _binding(nic: "Nic") -> str:
    command = f"dpdk-devbind.py --bind=vfio-pci {nic.address}"
    if not nic.iommu:
        command = f"modprobe vfio enable_unsafe_noiommu_mode=1 && {command} (it has no IOMMU)"
    if nic.addressed:
        command += (
            f"; but {', '.join(nic.addressed)} has an IP address: whoever reaches this machine over it loses it, and "
            "dpdk-devbind.py wants --force"
        )
    return f"as root: modprobe vfio-pci && {command}"
