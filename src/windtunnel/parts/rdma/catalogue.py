"""What RDMA has outside of its folders."""

from typing import Final

SCENARIOS = {"RDMA": ("rdma-rc", "rdma-ud", "rdma-rdm", "rdma-read")}
STUDIES: Final[dict[str, tuple[str, ...]]] = {}
FILES = (
    "bench/bare_fabric.c",
    "bench/harness/pingpong.py",
    "bench/rdma.py",
    "bench/scenarios/rdma.toml",
    "docs/reference/wires-rdma.md",
    "tests/guest/guest_rdma.py",
)
