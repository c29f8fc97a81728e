"""What tests of the spine ask estimates of PCIe traffic for."""

COMMANDS = ("pcie estimate", "pcie nics")
