"""What a capture holds, as far as the driver's endless replay must know it: every frame of it keeps an mbuf.

Format: https://wiki.wireshark.org/Development/LibpcapFileFormat
"""

import struct
from dataclasses import dataclass
from pathlib import Path

from windtunnel.scenario.refusal import Refusal

WHERE = ("wire", "replay")
MAGIC = {0xA1B2C3D4, 0xA1B23C4D}  # stamps of microseconds, of nanoseconds
ETHERNET = 1
FILE_HEADER, RECORD_HEADER = 24, 16


@dataclass(frozen=True)
class Capture:
    frames: int
    longest: int
    """Bytes of the longest frame, without FCS."""


def look_into(file: Path) -> Capture:
    """Counts the frames of a pcap file. Raises Refusal for what is none, is empty or breaks off."""
    try:
        with file.open("rb") as stream:
            header = stream.read(FILE_HEADER)
            order = _byte_order(file, header)
            size = stream.seek(0, 2)
            at, frames, longest = FILE_HEADER, 0, 0
            while at < size:
                stream.seek(at)
                record = stream.read(RECORD_HEADER)
                kept = struct.unpack(f"{order}8xI4x", record)[0] if len(record) == RECORD_HEADER else size
                at += RECORD_HEADER + kept
                if at > size:
                    raise Refusal(
                        WHERE, f"{file} breaks off in frame {frames + 1}", "a capture that was closed properly"
                    )
                frames, longest = frames + 1, max(longest, kept)
    except OSError as error:
        raise Refusal(
            WHERE, f"{file}: {(error.strerror or str(error)).lower()}", "a capture, relative to the scenario file"
        ) from None
    if frames == 0:
        raise Refusal(WHERE, f"{file} holds no frame", "a capture with at least one")
    return Capture(frames, longest)


def _byte_order(file: Path, header: bytes) -> str:
    for order in "<>":
        if len(header) == FILE_HEADER and struct.unpack(f"{order}I", header[:4])[0] in MAGIC:
            if struct.unpack(f"{order}I", header[20:])[0] & 0xFFFF != ETHERNET:
                raise Refusal(WHERE, f"{file} holds no Ethernet frames", "a capture of link type Ethernet")
            return order
    raise Refusal(WHERE, f"{file} is not a pcap file", "pcapng becomes pcap with: editcap -F pcap IN OUT")
