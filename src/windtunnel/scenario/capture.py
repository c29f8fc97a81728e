"""Frames of a capture, for an endless replay: the driver keeps an mbuf for every frame.

Formats: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng). The engine reads them by libpcap, which refuses a pcapng file whose
interfaces differ in link type or snapshot length (pcap_open_offline(3)); that is told before there is a run.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as File
from typing import BinaryIO

from windtunnel.scenario.refusal import Path, Refusal

PCAP_MAGIC = {0xA1B2C3D4, 0xA1B23C4D}  # stamps of microseconds, of nanoseconds
PCAP_HEADER, RECORD_HEADER = 24, 16
PCAPNG_MAGIC, BYTE_ORDER_MAGIC = 0x0A0D0D0A, 0x1A2B3C4D
INTERFACE, LINK_AT, SNAP_AT = 1, 8, 12
"""Block type that describes an interface, and the positions of its link type and snapshot length."""
ETHERNET = 1
LINK_TYPES = {
    0: "BSD loopback",
    12: "raw IP",
    101: "raw IP",
    105: "802.11",
    108: "OpenBSD loopback",
    113: "Linux cooked (tcpdump -i any)",
    127: "802.11 with radiotap",
    276: "Linux cooked v2 (tcpdump -i any)",
}
"""Link types (tcpdump.org/linktypes.html) that captures have instead."""
MOST_FRAMES = 4_000_000
"""An mbuf of 2 KiB for each is 9 GB. A file with a hole in it may claim any number, and each takes microseconds to count."""
CAPTURED_AT = {6: 20, 3: 8, 2: 20}
"""Block type that holds a frame (enhanced, simple, old) -> position of the frame's length in the block."""


@dataclass(frozen=True)
class Capture:
    frames: int
    longest: int
    """Bytes of the longest frame, without FCS."""
    longest_at: int
    """Its number, from 1, as Wireshark counts."""


def look_into(file: File, where: Path) -> Capture:
    """Counts the frames of a pcap or pcapng file, which is named at `where`. Raises Refusal for what is none, is empty, breaks off, or cannot
    be played."""
    frames, longest, longest_at = 0, 0, 0
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise _NotOne  # a pipe would be waited for, for ever
        with file.open("rb") as stream:
            for length in _lengths(stream):
                frames += 1
                _check_frame(frames, length)
                if length > longest:
                    longest, longest_at = length, frames
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise Refusal(where, f"{file}: {what}", "a capture, relative to the scenario file") from None
    except struct.error:
        raise Refusal(where, f"{file} is truncated in frame {frames + 1}", "a complete capture") from None
    except _NotOne:
        raise Refusal(where, f"{file} is not a capture", "a pcap or pcapng file") from None
    except _Unplayable as error:
        raise Refusal(where, f"{file} {error.words}", error.remedy) from None
    if frames == 0:
        raise Refusal(where, f"{file} contains no frame", "a capture with at least one frame")
    return Capture(frames, longest, longest_at)


class _NotOne(Exception):
    """The file has neither format's mark."""


class _Unplayable(Exception):
    """It is a capture, and no frames of Ethernet that libpcap reads."""

    def __init__(self, message: str, remedy: str):
        super().__init__(message)
        self.words, self.remedy = message, remedy


def _check_link(link: int) -> None:
    if link != ETHERNET:
        name = LINK_TYPES.get(link, f"link type {link}")
        raise _Unplayable(f"has frames of {name}, not of Ethernet", "capture on one interface: tcpdump -i eth0 -w FILE")


def _too_many() -> _Unplayable:
    return _Unplayable(
        f"has more than {MOST_FRAMES:,} frames or other blocks", f"editcap -F pcap -r IN OUT 1-{MOST_FRAMES}"
    )


def _check_frame(number: int, length: int) -> None:
    if length == 0:
        raise _Unplayable(f"has no byte of frame {number}", "a complete capture")
    if number > MOST_FRAMES:
        raise _too_many()


def _lengths(stream: BinaryIO) -> Iterator[int]:
    """The length of each frame. A read that ends too early raises struct.error."""
    size = stream.seek(0, 2)
    start = _at(stream, 0, 12)
    for order in "<>":
        if len(start) == 12 and struct.unpack(f"{order}I", start[:4])[0] in PCAP_MAGIC:
            return _pcap_lengths(stream, size, order)
        if len(start) == 12 and struct.unpack(f"{order}I4xI", start) == (PCAPNG_MAGIC, BYTE_ORDER_MAGIC):
            return _pcapng_lengths(stream, size, order)
    raise _NotOne


def _pcap_lengths(stream: BinaryIO, size: int, order: str) -> Iterator[int]:
    (link,) = struct.unpack(f"{order}I", _at(stream, 20, 4))
    _check_link(link & 0xFFFF)  # the highest bits tell the length of an FCS
    at = PCAP_HEADER
    while at < size:
        (length,) = struct.unpack(f"{order}8xI4x", _at(stream, at, RECORD_HEADER))
        at += RECORD_HEADER + length
        if at > size:
            raise struct.error
        yield length


def _pcapng_lengths(stream: BinaryIO, size: int, order: str) -> Iterator[int]:
    at, first, blocks = 0, None, 0
    while at < size:
        blocks += 1
        if blocks > 2 * MOST_FRAMES:
            raise _too_many()
        kind, length = struct.unpack(f"{order}II", _at(stream, at, 8))
        if length < 12 or at + length > size:
            raise struct.error
        if kind == INTERFACE:
            (link,) = struct.unpack(f"{order}H", _at(stream, at + LINK_AT, 2))
            (snapshot,) = struct.unpack(f"{order}I", _at(stream, at + SNAP_AT, 4))
            _check_link(link)
            first = snapshot if first is None else first
            if snapshot != first:
                raise _Unplayable(
                    f"has interfaces with the snapshot lengths {first} and {snapshot}, of which libpcap reads one",
                    "editcap -F pcap IN OUT, which makes one of them",
                )
        if kind in CAPTURED_AT:
            (captured,) = struct.unpack(f"{order}I", _at(stream, at + CAPTURED_AT[kind], 4))
            yield min(captured, length - 12)
        at += length


def _at(stream: BinaryIO, position: int, count: int) -> bytes:
    stream.seek(position)
    return stream.read(count)
