"""The commands of estimates. They import what they need when they run."""

from windtunnel.parts.pcie.pcie_command import estimate, nics

MODEL = (("pcie", "Estimate the PCIe traffic of packets.", (estimate, nics)),)
