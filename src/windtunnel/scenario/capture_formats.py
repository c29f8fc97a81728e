"""The frames of pcap (draft-ietf-opsawg-pcap) and pcapng files (draft-ietf-opsawg-pcapng), as libpcap gives them to the engine.

The engine plays what libpcap reads. So what libpcap refuses is refused here (sf-pcap.c, sf-pcapng.c), before there is a run. A test gives both
the same files. No library is called here: a file may be somebody else's, and the pages check it in their own process.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

ETHERNET = 1
_ON_ONE_INTERFACE = "capture on one interface of Ethernet: tcpdump -i eth0 -w FILE"
_MANAGED = "capture on the interface of Ethernet, without monitor mode: tcpdump -i eth0 -w FILE"
LINK_TYPES = {
    0: ("BSD loopback", _ON_ONE_INTERFACE),
    9: ("PPP", _ON_ONE_INTERFACE),
    12: ("raw IP", _ON_ONE_INTERFACE),
    14: ("raw IP", _ON_ONE_INTERFACE),
    101: ("raw IP", _ON_ONE_INTERFACE),
    105: ("802.11", _MANAGED),
    108: ("OpenBSD loopback", _ON_ONE_INTERFACE),
    113: ("Linux cooked (tcpdump -i any)", _ON_ONE_INTERFACE),
    119: ("802.11 with Prism headers", _MANAGED),
    127: ("802.11 with radiotap", _MANAGED),
    163: ("802.11 with AVS headers", _MANAGED),
    189: ("USB", _ON_ONE_INTERFACE),
    192: ("802.11 with PPI headers", _MANAGED),
    220: ("USB", _ON_ONE_INTERFACE),
    228: ("raw IPv4", _ON_ONE_INTERFACE),
    229: ("raw IPv6", _ON_ONE_INTERFACE),
    239: ("netfilter's log", _ON_ONE_INTERFACE),
    249: ("USB", _ON_ONE_INTERFACE),
    253: ("Linux netlink", _ON_ONE_INTERFACE),
    276: ("Linux cooked v2 (tcpdump -i any)", _ON_ONE_INTERFACE),
}
"""Link types (tcpdump.org/linktypes.html) that captures have in place of Ethernet, and what helps."""
CONVERTED = "editcap -F pcap IN OUT"
"""What makes a plain pcap of what Wireshark reads."""
_UNPACKED = "{} FILE, and name what it makes"
_OTHERS = (
    (b"\x1f\x8b", "is compressed with gzip", _UNPACKED.format("gunzip -k")),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", _UNPACKED.format("unzstd")),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", _UNPACKED.format("unlz4 -k")),
    (b"\xfd7zXZ\0", "is compressed with xz", _UNPACKED.format("unxz -k")),
    (b"BZh", "is compressed with bzip2", _UNPACKED.format("bunzip2 -k")),
    (b"PK\x03\x04", "is a zip archive", "unzip FILE, and name the capture in it"),
    (b"snoop\0\0\0", "is a capture of snoop", CONVERTED),
    (b"GMBU", "is a capture of Microsoft's Network Monitor", CONVERTED),
    (b"RTSS", "is a capture of Microsoft's Network Monitor", CONVERTED),
    (b"TRSNIFF data", "is a capture of Sniffer", CONVERTED),
    (b"XCP\0", "is a capture of NetXray or Sniffer", CONVERTED),
    (b"btsnoop\0", "is a capture of Bluetooth", _ON_ONE_INTERFACE),
)
"""How other files begin that hold captures."""
_MICRO, _NANO, _PATCHED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
"""Marks of pcap: times in us, in ns, and records with the index, protocol and type of Linux 2.2."""
_PCAP_HEADER, _RECORD, _PATCHED_RECORD = 24, 16, 24
_VERSION = (2, 4)
_SECTION, _BYTE_ORDER, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 0x1A2B3C4D, 1, 2, 3, 6
_MOST_SNAPSHOT = 262_144
"""libpcap's bound for a frame of Ethernet, and its meaning of "none"."""
_MOST_BLOCK = 16 << 20
_END_OF_OPTIONS, _RESOLUTION, _OFFSET = 0, 9, 14
_LENGTHS = {_END_OF_OPTIONS: 0, _RESOLUTION: 1, _OFFSET: 8}
"""Options of an interface that libpcap reads, once each, with their lengths."""
_HEAD = 18
"""Bytes of a frame with one tag of a VLAN before its EtherType."""
_NS = 10**9
_TAGS = (b"\x81\x00", b"\x88\xa8")
"""EtherTypes of IEEE 802.1Q and 802.1ad."""


class NoCapture(Exception):
    """The file has neither format's mark."""


class Unplayable(Exception):
    """It is a capture, and no frames of Ethernet that libpcap reads."""

    def __init__(self, message: str, remedy: str):
        super().__init__(message)
        self.words, self.remedy = message, remedy


class Frame(NamedTuple):
    """`length`: bytes that the capture has of it; `sent`: that it had; `time_ns`: since 1970; `head`: its first bytes."""

    length: int
    sent: int
    time_ns: int
    head: bytes


@dataclass(frozen=True)
class _Interface:
    units: int
    """In a second."""
    offset_s: int


def frames_of(stream: BinaryIO) -> Iterator[Frame | None]:
    """Each frame; None for another block. Raises NoCapture, Unplayable, and struct.error where a read ends too early."""
    size = stream.seek(0, 2)
    start = _at(stream, 0, 16)
    for mark, what, remedy in _OTHERS:
        if start.startswith(mark):
            raise Unplayable(what, remedy)
    for order in "<>":
        if len(start) >= 4 and struct.unpack(f"{order}I", start[:4])[0] in (_MICRO, _NANO, _PATCHED):
            return _pcap(stream, size, order)
        if len(start) >= 12 and struct.unpack(f"{order}I4xI", start[:12]) == (_SECTION, _BYTE_ORDER):
            return _pcapng(stream, size, order)
    raise NoCapture


def vlan_of(head: bytes) -> int | None:
    """The VLAN of a frame with one tag of IEEE 802.1Q."""
    if len(head) < _HEAD or head[12:14] != _TAGS[0] or head[16:18] in _TAGS:
        return None
    return int.from_bytes(head[14:16], "big") & 0xFFF


def is_tagged(head: bytes) -> bool:
    """Whether a frame begins with a tag, of a VLAN or of a provider."""
    return head[12:14] in _TAGS


def _check_link(link: int) -> None:
    if link != ETHERNET:
        name, remedy = LINK_TYPES.get(link, (f"link type {link}", _ON_ONE_INTERFACE))
        raise Unplayable(f"has frames of {name}, not of Ethernet", remedy)


def _snapshot(length: int) -> int:
    return length if 0 < length < 1 << 31 else _MOST_SNAPSHOT


def _pcap(stream: BinaryIO, size: int, order: str) -> Iterator[Frame]:
    mark, *version, snapshot, link = struct.unpack(f"{order}IHH8xII", _at(stream, 0, _PCAP_HEADER))
    if tuple(version) != _VERSION:
        raise Unplayable(f"is pcap of version {version[0]}.{version[1]}, not 2.4", CONVERTED)
    _check_link(link & 0x03FFFFFF)  # the highest bits tell the length of an FCS
    most = _snapshot(snapshot) + (14 if mark == _PATCHED else 0)
    header = _PATCHED_RECORD if mark == _PATCHED else _RECORD
    unit = 1 if mark == _NANO else 1000
    record, at = struct.Struct(f"{order}IIII"), _PCAP_HEADER
    while at < size:
        read = _at(stream, at, header + _HEAD)
        seconds, fraction, length, sent = record.unpack(read[:_RECORD])
        at += header + length
        if at > size:
            raise struct.error
        time_ns = seconds * _NS + fraction * unit if fraction * unit < _NS else -1
        yield Frame(min(length, most), sent, time_ns, read[header : header + length])


def _pcapng(stream: BinaryIO, size: int, order: str) -> Iterator[Frame | None]:
    at, frames, two = 0, 0, struct.Struct(f"{order}II")
    snapshot: int | None = None
    interfaces: list[_Interface] = []
    while at < size:
        begin = _at(stream, at, 8 + 20 + _HEAD)
        kind, length = two.unpack(begin[:8])
        if kind == _SECTION:
            length = _section(stream, at, order)
            interfaces = []
        if length < 12 or at + length > size:
            raise struct.error
        if length % 4 or length > _MOST_BLOCK:
            raise Unplayable(f"has a block of {length} bytes behind frame {frames}, which libpcap refuses", CONVERTED)
        if _at(stream, at + length - 4, 4) != begin[4:8]:
            raise Unplayable(f"is damaged behind frame {frames}: a block has two lengths", CONVERTED)
        frame = None
        if kind == _INTERFACE and length < 20:
            raise struct.error
        if kind == _INTERFACE:
            link, most = struct.unpack(f"{order}HxxI", _at(stream, at + 8, 8))
            snapshot = _checked(link, most, snapshot)
            interfaces.append(_interface(_at(stream, at + 16, length - 20), order))
        elif kind in (_PACKET, _SIMPLE_PACKET, _OLD_PACKET):
            frames += 1
            frame = _packet(kind, begin[8 : length - 4], length - 12, order, interfaces, snapshot)
            if frame is None:
                raise Unplayable(f"is damaged: frame {frames} does not fit its block or its interface", CONVERTED)
        yield frame
        at += length


def _section(stream: BinaryIO, at: int, order: str) -> int:
    """The length of a section's header, which has a byte order of its own."""
    (mark,) = struct.unpack(f"{order}I", _at(stream, at + 8, 4))
    if mark != _BYTE_ORDER:
        raise Unplayable("has sections of different byte orders, of which libpcap reads one", CONVERTED)
    length, major, minor = struct.unpack(f"{order}I4xHH", _at(stream, at + 4, 12))
    if major != 1 or (at == 0 and minor not in (0, 2)):
        raise Unplayable(f"is pcapng of version {major}.{minor}, not 1.0", CONVERTED)
    if length < 28:
        raise struct.error
    return int(length)


def _checked(link: int, length: int, first: int | None) -> int:
    """The snapshot length of an interface, which libpcap wants to be that of the first one."""
    _check_link(link)
    snapshot = _snapshot(length)
    if first is not None and snapshot != first:
        raise Unplayable(
            f"has interfaces with the snapshot lengths {first} and {length}, of which libpcap reads one",
            f"{CONVERTED}, which makes one of them",
        )
    return snapshot


def _interface(options: bytes, order: str) -> _Interface:
    """An interface by its options: how its times are written."""
    units, offset_s, at = 10**6, 0, 0
    seen: set[int] = set()
    while at < len(options):
        code, length = struct.unpack(f"{order}HH", options[at : at + 4])
        value = options[at + 4 : at + 4 + -(-length // 4) * 4]
        if len(value) < length or len(value) % 4 or code in seen or length != _LENGTHS.get(code, length):
            raise Unplayable("is damaged: an interface has an option that does not fit", CONVERTED)
        if code == _END_OF_OPTIONS:
            break
        if code == _RESOLUTION:
            power = value[0] & 0x7F
            if power > (63 if value[0] & 0x80 else 19):
                raise Unplayable("has times that are finer than libpcap reads", CONVERTED)
            units = 2**power if value[0] & 0x80 else 10**power
        if code == _OFFSET:
            (offset_s,) = struct.unpack(f"{order}q", value)
        seen |= {code} & {*_LENGTHS}
        at += 4 + len(value)
    return _Interface(units, offset_s)


def _packet(
    kind: int, body: bytes, room: int, order: str, interfaces: list[_Interface], snapshot: int | None
) -> Frame | None:
    """A frame by the beginning of its block, whose body has `room` bytes. None: it does not fit."""
    if kind == _SIMPLE_PACKET:
        number, time, begin = 0, 0, 4
        (sent,) = struct.unpack(f"{order}I", body[:4])
        length = min(sent, snapshot or 0)
    else:
        number, high, low, length, sent = struct.unpack(f"{order}{'I' if kind == _PACKET else 'Hxx'}IIII", body[:20])
        time, begin = high << 32 | low, 20
    if number >= len(interfaces) or snapshot is None or length > snapshot or begin + length > room:
        return None
    on = interfaces[number]
    seconds, fraction = divmod(time, on.units)
    time_ns = (seconds + on.offset_s) * _NS + fraction * _NS // on.units
    return Frame(length, sent, time_ns, body[begin : begin + min(length, _HEAD)])


def _at(stream: BinaryIO, position: int, count: int) -> bytes:
    stream.seek(position)
    return stream.read(count)
