"""What P4 pipelines have outside of their folders."""

from typing import Any

SCENARIOS = {"P4 pipelines": ("swx-l2fwd", "swx-exact", "swx-router", "swx-acl")}
STUDIES: dict[str, Any] = {}
FILES = (
    "bench/bare_swx.c",
    "bench/scenarios/swx-exact.entries",
    "bench/scenarios/swx-exact.tables",
    "bench/scenarios/swx-exact.toml",
    "bench/swx.py",
    "docs/reference/p4.md",
)
