"""The page that the probe shares with its observer: attach/page.h, read and written from Python.

The page is a memfd of the application, opened as /proc/PID/fd/N. So whoever may trace the application may observe it, and nothing remains
when both have ended. The observer writes the control block alone.
"""

import ctypes
import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from windtunnel import proc
from windtunnel.errors import UserError

NAME = "windtunnel-attach"
"""Name of the memfd, and of the library without its prefix and suffix."""
MAGIC = int.from_bytes(b"wtntatch", "little")
ABI = 1
PORTS, CHANNELS, BURSTS, SIZES, DELAYS = 64, 512, 66, 16, 400
COUNTS, TIMED, SIZED, LATENCY, STATISTICS_READ = 1, 2, 4, 8, 16
"""Modes of the probe: bits of control.modes."""
STARTING, READY, REFUSED = 0, 1, 2
"""States of the probe."""
RX, TX = 0, 1

u16, u32, u64 = ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64


class Control(ctypes.Structure):
    """What the observer wants of the probe."""

    _fields_ = (
        ("sequence", u32),
        ("modes", u32),
        ("observer", u64),
        ("observer_start", u64),
        ("lease_until_ns", u64),
        ("on_us", u32),
        ("period_us", u32),
        ("timed_every", u32),
        ("delay_thread", u32),
        ("delay_ticks", u32),
        ("fill_ticks", u32),
        ("delay_until_ns", u64),
        ("interrupted_us", u32),
        ("reserved", u32),
    )


class Turns(ctypes.Structure):
    """Timed turns that began with a receive call of so many packets."""

    _fields_ = (("turns", u64), ("rx_ticks", u64), ("application_ticks", u64), ("tx_ticks", u64))


class Channel(ctypes.Structure):
    """What one thread did on one queue of a port, in one direction."""

    _fields_ = (
        ("thread", u32),
        ("port", u16),
        ("queue", u16),
        ("direction", u16),
        ("lcore", u16),
        ("asked", u32),
        ("calls", u64),
        ("packets", u64),
        ("refused", u64),
        ("bursts", u64 * BURSTS),
        ("timed", Turns * BURSTS),
        ("interrupted_turns", u64),
        ("interrupted_ticks", u64),
        ("sized_packets", u64),
        ("sized_bytes", u64),
        ("sizes", u64 * SIZES),
        ("delays", u64 * DELAYS),
        ("delays_lost", u64),
        ("delayed_ticks", u64),
        ("ended", u32),
        ("reserved", u32),
    )


class Phase(ctypes.Structure):
    """What a port moved while the probe was present, or absent."""

    _fields_ = (("phases", u64), ("ticks", u64), ("rx_packets", u64), ("tx_packets", u64))


STATISTICS = ("ipackets", "opackets", "ibytes", "obytes", "imissed", "ierrors", "oerrors", "rx_nombuf")
"""Counters of a port, as rte_eth_stats_get names them."""


class Port(ctypes.Structure):
    """A port, and what the application's own DPDK counts for it."""

    _fields_ = (
        ("wrapped", u32),
        ("attached", u32),
        ("wraps", u64),
        ("displaced", u64),
        ("stats_at", u64),
        *((name, u64) for name in STATISTICS),
        ("present", Phase),
        ("absent", Phase),
    )


class Head(ctypes.Structure):
    """The page up to its channels."""

    _fields_ = (
        ("magic", u64),
        ("abi", u32),
        ("bytes", u32),
        ("state", u32),
        ("year", u32),
        ("month", u32),
        ("ports", u32),
        ("watcher", u32),
        ("channels_refused", u32),
        ("refusal", ctypes.c_char * 256),
        ("present_ticks", u64),
        ("lease_ends", u64),
        ("clock_ticks", u64),
        ("clock_ns", u64),
        ("clock_sequence", u64),
        ("control", Control),
        ("port", Port * PORTS),
    )


BYTES = ctypes.sizeof(Head) + CHANNELS * ctypes.sizeof(Channel)
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
"""Of the memfd: if the application made it shorter, the observer would end by SIGBUS."""
CLOCK_READS = 1000
"""Times that the clock is read, 1 ms apart, until it is not being written: the probe's watcher takes some ns for it."""
_FUTEX, _FUTEX_WAKE, _ALL = 202, 1, (1 << 31) - 1


def descriptor_of(pid: int) -> Path | None:
    """The page of a process, as a path below /proc; None if it has none. Raises UserError if its descriptors may not be read."""
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.readlink(entry.path).startswith(f"/memfd:{NAME}"):
                    return Path(entry.path)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise UserError(
            f"process {pid} is another user's, or may not be traced", remedy="become its user, or root"
        ) from None
    return None


class Page:
    """An application's page, observed by this process alone. It is a context manager; at its end the lease is given back."""

    def __init__(self, path: Path):
        """Raises UserError if another process observes the application, or the page is of another release, or none of a probe's."""
        self._fd = _open(path)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (size := os.fstat(self._fd).st_size) != BYTES:
                raise _other_release(f"its page has {size} bytes, and {BYTES} are expected")
            if fcntl.fcntl(self._fd, fcntl.F_GET_SEALS) & SEALS != SEALS:
                raise _other_release("its page is not sealed")
            self._map = mmap.mmap(self._fd, BYTES)
        except BlockingIOError:
            os.close(self._fd)
            raise UserError("another process observes this application", remedy="wait until that has ended") from None
        except OSError as error:  # sealed against writing, too
            os.close(self._fd)
            raise _other_release(f"its page cannot be shared: {error.strerror}") from None
        except BaseException:
            os.close(self._fd)
            raise
        self.head = Head.from_buffer(self._map)
        self.control: Control = self.head.control
        if (identity := (self.head.magic, self.head.abi, self.head.bytes)) != (MAGIC, ABI, BYTES):
            self.close()
            raise _other_release(f"its page has version {identity[1]}, and {ABI} is expected")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the application. What an exception's frames refer to stays mapped as long as these."""
        del self.head, self.control
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        with suppress(BufferError):
            self._map.close()
        os.close(self._fd)

    def wake(self) -> None:
        """Tells the probe that the control block has changed."""
        self.control.sequence = (self.control.sequence + 1) & 0xFFFFFFFF
        ctypes.CDLL(None).syscall(_FUTEX, ctypes.byref(self.control), _FUTEX_WAKE, _ALL, None, None, 0)

    def clock(self) -> tuple[int, int]:
        """The TSC and CLOCK_MONOTONIC in ns at the last wake of the probe's watcher. Raises UserError if they are never whole."""
        for _ in range(CLOCK_READS):
            before = self.head.clock_sequence
            pair = int(self.head.clock_ticks), int(self.head.clock_ns)
            if before % 2 == 0 and before == self.head.clock_sequence:
                return pair
            time.sleep(0.001)
        raise UserError(
            "the probe in this application does not write its clock to the end", "start the application again"
        )

    def ports(self) -> dict[int, Any]:
        """A copy of each port that has a driver, by its number."""
        ports = (self.head.port[number] for number in range(min(self.head.ports, PORTS)))
        return {number: Port.from_buffer_copy(port) for number, port in enumerate(ports) if port.attached}

    def channels(self) -> Iterator[Channel]:
        """A copy of each channel in use."""
        for number in range(CHANNELS):
            offset = ctypes.sizeof(Head) + number * ctypes.sizeof(Channel)
            channel = Channel.from_buffer_copy(self._map, offset)
            if channel.thread == 0:
                return
            yield channel


def _open(path: Path) -> int:
    """A descriptor of a page. The application chooses what has its name: a device may act when it is opened, and a FIFO, or a file system of the
    application's own, may block. So its mount is asked first, without opening it: all memfds are of one. Raises UserError."""
    own = os.memfd_create("windtunnel-mount")
    try:
        place = os.open(path, os.O_PATH)
        try:
            if (mount := _mount(own)) is None or _mount(place) != mount:
                raise UserError(f"{path}: not the page of a probe", remedy="start the application again")
            return os.open(f"/proc/self/fd/{place}", os.O_RDWR)
        finally:
            os.close(place)
    except OSError as error:
        raise UserError(f"{path}: cannot be opened: {error.strerror}", remedy="windtunnel attach --list") from None
    finally:
        os.close(own)


def _mount(descriptor: int) -> str | None:
    return proc.value(proc.text(f"/proc/self/fdinfo/{descriptor}"), "mnt_id")


def _other_release(why: str) -> UserError:
    return UserError(
        f"the probe in this application is of another release of Windtunnel: {why}",
        remedy="start the application again",
    )
