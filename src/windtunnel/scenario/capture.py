"""Frames of a capture, for an endless replay: the driver keeps an mbuf for every frame.

Formats: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng).
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
CAPTURED_AT = {6: 20, 3: 8, 2: 20}
"""Block type that holds a frame (enhanced, simple, old) -> where in the block its length stands."""


@dataclass(frozen=True)
class Capture:
    frames: int
    longest: int
    """Bytes of the longest frame, without FCS."""


def look_into(file: File, where: Path) -> Capture:
    """Counts the frames of a pcap or pcapng file, which is named at `where`. Raises Refusal for what is none, is empty or breaks off."""
    frames, longest = 0, 0
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise _NotOne  # a pipe would be waited for, for ever
        with file.open("rb") as stream:
            for length in _lengths(stream):
                frames, longest = frames + 1, max(longest, length)
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise Refusal(where, f"{file}: {what}", "a capture, relative to the scenario file") from None
    except struct.error:
        raise Refusal(where, f"{file} is truncated in frame {frames + 1}", "a complete capture") from None
    except _NotOne:
        raise Refusal(where, f"{file} is not a capture", "a pcap or pcapng file") from None
    if frames == 0:
        raise Refusal(where, f"{file} contains no frame", "a capture with at least one frame")
    return Capture(frames, longest)


class _NotOne(Exception):
    """The file has neither format's mark."""


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
    at = PCAP_HEADER
    while at < size:
        (length,) = struct.unpack(f"{order}8xI4x", _at(stream, at, RECORD_HEADER))
        at += RECORD_HEADER + length
        if at > size:
            raise struct.error
        yield length


def _pcapng_lengths(stream: BinaryIO, size: int, order: str) -> Iterator[int]:
    at = 0
    while at < size:
        kind, length = struct.unpack(f"{order}II", _at(stream, at, 8))
        if length < 12 or at + length > size:
            raise struct.error
        if kind in CAPTURED_AT:
            (captured,) = struct.unpack(f"{order}I", _at(stream, at + CAPTURED_AT[kind], 4))
            yield min(captured, length - 12)
        at += length


def _at(stream: BinaryIO, position: int, count: int) -> bytes:
    stream.seek(position)
    return stream.read(count)
