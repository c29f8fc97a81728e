"""PCIe traffic of packets: equations, NICs as data, estimates for runs and for other tools' statistics.

All values are estimates, except in `measured`, which reads hardware counters. Directions are those of the link: *up* from the device to
the host, *down* to the device. *Inbound* transfers are requested by the device (DMA), *outbound* ones by the CPU (registers).
"""

from windtunnel.pcie.batches import Batches
from windtunnel.pcie.estimate import Cost, Estimate, Settings, Traffic, estimate
from windtunnel.pcie.link import Link
from windtunnel.pcie.nic import Nic, load_nic, shipped

__all__ = ["Batches", "Cost", "Estimate", "Link", "Nic", "Settings", "Traffic", "estimate", "load_nic", "shipped"]
