"""What observations have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = (
    "bench/attach.py",
    "docs/explanation/attach.md",
    "docs/how-to/attach.md",
    "docs/measurements/attach.md",
    "docs/tutorials/why-is-my-data-plane-slow.md",
)
FOLDERS = ("attach",)
"""The probe, which is built without DPDK."""
