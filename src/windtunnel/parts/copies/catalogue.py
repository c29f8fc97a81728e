"""What copies have outside of their folders."""

SCENARIOS = {"Copies of payload": ("copy-dma", "copy-model")}
STUDIES = {"Copies of payload": ("copy-unpack", "copy-break-even", "copy-vector")}
FILES = (
    "bench/copies.py",
    "bench/raw_copies.cc",
    "docs/how-to/copies-of-a-program.md",
    "docs/how-to/copy-payload.md",
    "docs/how-to/write-a-copier.md",
    "docs/measurements/copies.md",
    "include/windtunnel/copier.h",
)
FOLDERS = ("copies", "plugins/copier", "plugins/copier-rust")
"""The library that counts the copies of a program, which is built without DPDK; and examples of copiers."""
