"""What estimates of PCIe traffic have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = (
    "docs/how-to/estimate-pcie.md",
    "docs/reference/pcie.md",
    "src/windtunnel/parts/reproduce/claims/003-average-batch.toml",
    "src/windtunnel/parts/reproduce/claims/003-equations.toml",
    "src/windtunnel/parts/reproduce/claims/003-fracture.toml",
    "src/windtunnel/parts/reproduce/claims/studies/fracture.toml",
    "tests/guest/guest_witness.py",
)
