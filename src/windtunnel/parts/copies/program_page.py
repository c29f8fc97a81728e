"""The page in which a program counts its copies: copies/page.h, made and read from Python.

It is a memfd of this process, which the library in the program opens as /proc/PID/fd/N. The program may write anything into it: it is read by
copies of bounded size, and cannot be cut off.
"""

import ctypes
import fcntl
import os
from typing import Self

NAME = "windtunnel-copies"
"""Name of the memfd, and of the library without its prefix and suffix."""
VARIABLE = "WINDTUNNEL_COPIES"
MAGIC = int.from_bytes(b"wtncopys", "little")
ABI = 1
THREADS, SIZES, BY_CPU_TIME, GROUPS, PROGRAM = 512, 33, 18, 10, 64
FUNCTIONS = ("memcpy", "memmove", "mempcpy")

u32, u64 = ctypes.c_uint32, ctypes.c_uint64


class Timed(ctypes.Structure):
    """Timed copies, and what as many empty measurements took: in TSC ticks, or in ns of CPU time from the size BY_CPU_TIME on."""

    _fields_ = (("copies", u64), ("time", u64), ("empty", u64))


class Size(ctypes.Structure):
    """The copies of a thread that have a size of one power of two."""

    _fields_ = (
        ("copies", u64),
        ("bytes", u64),
        ("source_on_line", u64),
        ("destination_on_line", u64),
        ("source_on_page", u64),
        ("destination_on_page", u64),
        ("overlapping", u64),
        ("interrupted", u64),
        ("timed", Timed * GROUPS),
    )


class Own(ctypes.Structure):
    """What the library itself took."""

    _fields_ = (("timed", u64), ("counted_ticks", u64), ("empty_ticks", u64), ("ticks", u64), ("ns", u64))


class Thread(ctypes.Structure):
    """A row: the copies of one thread."""

    _fields_ = (
        ("process", u32),
        ("thread", u32),
        ("program", ctypes.c_char * PROGRAM),
        ("cpu_ns", u64),
        ("calls", u64 * len(FUNCTIONS)),
        ("own", Own),
        ("size", Size * SIZES),
    )


class Head(ctypes.Structure):
    """The page up to its rows."""

    _fields_ = (
        ("magic", u64),
        ("abi", u32),
        ("bytes", u32),
        ("processes", u32),
        ("threads", u32),
        ("early", u64),
    )


BYTES = ctypes.sizeof(Head) + THREADS * ctypes.sizeof(Thread)


class Page:
    """A new page. It is a context manager; what a process has mapped of it stays until that ends."""

    def __init__(self) -> None:
        self._fd = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._fd, BYTES)
        os.pwrite(self._fd, bytes(Head(magic=MAGIC, abi=ABI, bytes=BYTES)), 0)
        fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    @property
    def environment(self) -> dict[str, str]:
        """What the library finds the page by."""
        return {VARIABLE: f"/proc/{os.getpid()}/fd/{self._fd}"}

    def head(self) -> Head:
        return Head.from_buffer_copy(os.pread(self._fd, ctypes.sizeof(Head), 0))

    def rows(self) -> int:
        """Rows in use."""
        threads: int = self.head().threads
        return min(threads, THREADS)

    def thread(self, number: int) -> Thread:
        """A copy of a row."""
        size = ctypes.sizeof(Thread)
        return Thread.from_buffer_copy(os.pread(self._fd, size, ctypes.sizeof(Head) + number * size))

    def ids(self) -> list[tuple[int, int]]:
        """Process and thread of each row in use, without its counters."""
        size = ctypes.sizeof(Thread)
        places = (ctypes.sizeof(Head) + number * size for number in range(self.rows()))
        read = (os.pread(self._fd, 2 * ctypes.sizeof(u32), place) for place in places)
        return [(int.from_bytes(row[:4], "little"), int.from_bytes(row[4:], "little")) for row in read]
