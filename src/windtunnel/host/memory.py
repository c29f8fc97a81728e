"""Memory: hugepages (mapped as a test, not only counted), NUMA nodes, limits."""

import ctypes
import mmap
import os
import resource
from pathlib import Path
from typing import Literal

from windtunnel.host.read import Part, Probe, number, text
from windtunnel.proc import mounts, value

MAP_HUGETLB = 0x40000  # <asm-generic/mman-common.h>; Python 3.11's mmap has no name for it
MAP_HUGE_SHIFT = 26


class HugepageSize(Part):
    """The pool of one page size."""

    bytes: int
    reserved: int
    free: int


class HugetlbfsMount(Part):
    path: str
    writable: bool


class Hugepages(Part):
    sizes: list[HugepageSize]
    mounts: list[HugetlbfsMount]
    mapping: Probe  # whether this process could map one

    @property
    def reserved_bytes(self) -> int:
        return sum(size.bytes * size.reserved for size in self.sizes)

    @property
    def free_bytes(self) -> int:
        return sum(size.bytes * size.free for size in self.sizes)

    @property
    def usable(self) -> bool:
        return self.mapping.works


class Memory(Part):
    total_bytes: int | None
    hugepages: Hugepages
    transparent: str | None  # always, madvise or never; None: the kernel has none
    lockable_bytes: int | Literal["unlimited"]


def hugepages(root: Path = Path("/")) -> Hugepages:
    """Reserved and free hugepages, mounts of hugetlbfs, and whether a page can be mapped."""
    sizes = []
    for pool in sorted((root / "sys/kernel/mm/hugepages").glob("hugepages-*kB")):
        reserved, free = number(pool / "nr_hugepages"), number(pool / "free_hugepages")
        if reserved is not None and free is not None:
            kib = int(pool.name.removeprefix("hugepages-").removesuffix("kB"))
            sizes.append(HugepageSize(bytes=kib * 1024, reserved=reserved, free=free))
    sizes.sort(key=lambda size: size.bytes)
    return Hugepages(sizes=sizes, mounts=hugetlbfs_mounts(root), mapping=map_one(sizes))


def hugetlbfs_mounts(root: Path) -> list[HugetlbfsMount]:
    try:
        paths = [str(mount.path) for mount in mounts(root / "proc/self/mounts") if mount.kind == "hugetlbfs"]
    except OSError:
        return []
    return [HugetlbfsMount(path=path, writable=os.access(path, os.W_OK)) for path in paths]


def map_one(sizes: list[HugepageSize]) -> Probe:
    """Maps and unmaps one free page of the smallest size that has any."""
    free = [size for size in sizes if size.free]
    if not free:
        return Probe(works=False, reason="none free" if any(size.reserved for size in sizes) else "none reserved")
    page = free[0].bytes
    order = (page.bit_length() - 1) << MAP_HUGE_SHIFT
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB | order
    try:
        mmap.mmap(-1, page, flags=ctypes.c_int(flags).value).close()  # 16 GiB and more reach into the sign
    except OSError as error:
        return Probe(works=False, reason=error.strerror)
    return Probe(works=True)


def read_memory(root: Path = Path("/")) -> Memory:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Memory(
        total_bytes=total_bytes(text(root / "proc/meminfo") or ""),
        hugepages=hugepages(root),
        transparent=transparent(text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        lockable_bytes="unlimited" if soft == resource.RLIM_INFINITY else soft,
    )


def total_bytes(meminfo: str) -> int | None:
    total = value(meminfo, "MemTotal")
    return int(total.split()[0]) * 1024 if total else None


def transparent(enabled: str | None) -> str | None:
    """The word in brackets of "always [madvise] never"."""
    chosen = [word[1:-1] for word in (enabled or "").split() if word.startswith("[")]
    return chosen[0] if chosen else None
