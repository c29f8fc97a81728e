"""What crosses a PCIe link for each packet: equations, NICs as data, estimates for runs and for other tools' statistics.

All of it is an estimate but `measured`, which reads what hardware counters counted. Directions are those of the link: *up* from the
device to the host, *down* to the device. *Inbound* is what the device asks for (DMA), *outbound* what the CPU asks for (registers).
"""

from windtunnel.pcie.batches import Batches
from windtunnel.pcie.estimate import Cost, Estimate, Settings, Traffic, estimate
from windtunnel.pcie.link import Link
from windtunnel.pcie.nic import Nic, load_nic, shipped

__all__ = ["Batches", "Cost", "Estimate", "Link", "Nic", "Settings", "Traffic", "estimate", "load_nic", "shipped"]
