"""The caches as the kernel reports them, which is what lscpu prints: for comparison with the measured ones only."""

from pathlib import Path

from windtunnel.host.read import Part, number, text

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Cache(Part):
    """A data or unified cache of one CPU."""

    level: int
    bytes: int


def reported(cpu: int = 0, root: Path = Path("/")) -> list[Cache]:
    """Data and unified caches, the nearest first; empty if the kernel shows none."""
    caches = []
    for index in sorted((root / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        level, size = number(index / "level"), _size(text(index / "size"))
        if level is not None and size is not None and text(index / "type") != "Instruction":
            caches.append(Cache(level=level, bytes=size))
    return sorted(caches, key=lambda cache: cache.level)


def _size(kernel_text: str | None) -> int | None:
    """The kernel's "1024K" in bytes."""
    digits, unit = (kernel_text or "")[:-1], (kernel_text or "")[-1:]
    return int(digits) * _UNITS[unit] if digits.isdigit() and unit in _UNITS else None
