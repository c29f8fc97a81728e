"""NICs that a wire names by their PCI addresses: there, NICs indeed, with a driver that lets DPDK in, and near the CPUs that use them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from windtunnel.engine.plan_values import Side
from windtunnel.engine.query import WireOption
from windtunnel.errors import as_argument
from windtunnel.scenario.host import HostView
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import Placed, cpu_list
from windtunnel.scenario.refusal import Refusal
from windtunnel.scenario.wires import SIDES, of_type, value

if TYPE_CHECKING:
    from windtunnel.host.dpdk import Nic


def check_nics(scenario: Scenario, host: HostView, sides: Sequence[Side], option: WireOption) -> None:
    """The NICs that `option` names. Raises Refusal for the first that DPDK cannot have; what the host does not show is left to the
    engine."""
    given = {side: str(port) for side in sides if (port := value(scenario, option.name, side)) is not None}
    if len(given) > len(set(given.values())):  # two hosts may well have the same address
        what = f"client and server have the same NIC {given['client']}"
        remedy = f"a NIC for each of them, or --side on two hosts; of a NIC with two ports at one address the second is {given['client']}/1"
        raise Refusal(("client", option.name), what, remedy)
    if host.nics is None:
        return
    for side, port in given.items():
        address = address_of(port)
        nic = _at(address, host)
        if nic is None:
            raise Refusal((side, option.name), _absence(address, host), _those_there(host.nics))
        if not nic.usable:
            raise Refusal((side, option.name), _owner(nic), _binding(nic))


def devices(scenario: Scenario, sides: Iterable[Side]) -> list[str]:
    """Addresses of the NICs that EAL must probe."""
    named = [value(scenario, option.name, side) for side in sides for option in of_type(scenario, "pci")]
    return list(dict.fromkeys(address_of(str(port)) for port in named if port is not None))


def address_of(port: str) -> str:
    """The address of the device of a port: `0000:02:00.0` of `0000:02:00.0/1`."""
    return port.partition("/")[0]


def nic_nodes(scenario: Scenario, host: HostView) -> dict[Side, int]:
    """The NUMA node of each side's NIC; a side without a NIC, or whose node the kernel does not tell, is left out."""
    nics = {side: _at(address, host) for side in SIDES for address in devices(scenario, [side])}
    return {side: nic.numa_node for side, nic in nics.items() if nic and nic.numa_node is not None}


def far_nics(scenario: Scenario, host: HostView, placed: Sequence[Placed]) -> list[str]:
    """A note for every NIC that some of its endpoint's CPUs reach only through another NUMA node."""
    notes = []
    for side, node in nic_nodes(scenario, host).items():
        cpus = {stage.cpu for stage in placed if stage.side == side}
        near = {cpu for cpu, of_cpu in host.topology.node_of.items() if of_cpu == node}
        if near and cpus - near:
            notes.append(
                f"NIC {devices(scenario, [side])[0]} of the {side} is on NUMA node {node}, CPU {cpu_list(cpus - near)} is not: every "
                f"packet crosses nodes; {side}.cores from {cpu_list(near)} avoid that"
            )
    return notes


def _at(address: str, host: HostView) -> "Nic | None":
    return next((nic for nic in host.nics or [] if nic.address == address), None)


def _absence(address: str, host: HostView) -> str:
    if address in host.other_devices:
        return f"{address} is not a NIC: its PCI class differs"
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
    command = f"dpdk-devbind.py --bind=vfio-pci {as_argument(nic.address)}"
    if not nic.iommu:
        command = f"modprobe vfio enable_unsafe_noiommu_mode=1 && {command} (it has no IOMMU)"
    if nic.addressed:
        command += (
            f"; but {', '.join(nic.addressed)} has an IP address: connections to this machine over it will be lost, and "
            "dpdk-devbind.py wants --force"
        )
    return f"as root: modprobe vfio-pci && {command}"
