"""Frames to the server of the shipped scenarios: good ones, and one or several for each name under which it drops others.

The frames are put together here byte by byte and share nothing with the engine that parses them.
"""

import struct
from pathlib import Path

from make_frames import CLIENT_IP, CLIENT_MAC, PORT, SERVER_IP, SERVER_MAC, internet_checksum

BODY = bytes(range(70))
REQUEST, RESPONSE = 0x11, 0x12
BROADCAST, STRANGER = b"\xff" * 6, bytes.fromhex("0a0000000001")


def message(
    kind: int = REQUEST,
    workload: int = 0,
    application: int = 0,
    slot: int = 0,
    generation: int = 1,
    segment: int = 0,
    segments: int = 1,
    body: bytes = BODY,
) -> bytes:
    return struct.pack(">BBHIIHH", kind, workload, application, slot, generation, segment, segments) + body


def udp(payload: bytes, port: int = PORT, length: int | None = None, checksum: int | None = None) -> bytes:
    """A datagram from the client; `length` and `checksum` replace the true ones."""
    true_length = 8 + len(payload)
    length = true_length if length is None else length
    head = struct.pack(">HHH", 40000, port, length)
    pseudo = CLIENT_IP + SERVER_IP + struct.pack(">BBH", 0, 17, length)
    true = internet_checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF
    return head + struct.pack(">H", true if checksum is None else checksum) + payload


def ip(
    payload: bytes,
    *,
    protocol: int = 17,
    version: int = 4,
    words: int | None = None,
    options: bytes = b"",
    length: int | None = None,
    fragment: int = 0,
    to: bytes = SERVER_IP,
    damage: int = 0,
) -> bytes:
    """An IPv4 packet; `words` and `length` replace the true ones, `damage` is added to the checksum."""
    words = 5 + len(options) // 4 if words is None else words
    length = 20 + len(options) + len(payload) if length is None else length
    head = struct.pack(">BBHHHBBH4s4s", version << 4 | words, 0, length, 7, fragment, 64, protocol, 0, CLIENT_IP, to)
    checksum = (internet_checksum(head + options) + damage) & 0xFFFF
    return head[:10] + struct.pack(">H", checksum) + head[12:] + options + payload


def ether(payload: bytes, to: bytes = SERVER_MAC, kind: int = 0x0800) -> bytes:
    return (to + CLIENT_MAC + struct.pack(">H", kind) + payload).ljust(60, b"\0")


def request(**changes) -> bytes:
    return ether(ip(udp(message(**changes))))


def arp(
    operation: int, target: bytes, sender: bytes = CLIENT_MAC, protocol: int = 0x0800, asks: bytes = CLIENT_IP
) -> bytes:
    body = struct.pack(">HHBBH", 1, protocol, 6, 4, operation) + sender + asks + bytes(6) + target
    return ether(body, BROADCAST, 0x0806)


def ping(kind: int = 8, code: int = 0, damage: int = 0, data: bytes = b"windtunnel") -> bytes:
    head = struct.pack(">BBHHH", kind, code, 0, 1, 2)
    checksum = (internet_checksum(head + data) + damage) & 0xFFFF
    return ether(ip(head[:2] + struct.pack(">H", checksum) + head[4:] + data, protocol=1))


GOOD = "good"
FRAMES: list[tuple[str, bytes]] = [
    (GOOD, request()),
    (GOOD, request(slot=2**32 - 1, generation=2**32 - 1, application=65535)),
    (GOOD, ether(ip(udp(message(), checksum=0)))),
    (GOOD, ether(ip(udp(message()), options=b"\x01" * 40))),
    (GOOD, request() + b"padding behind the end of the IP packet"),
    (GOOD, ping()),
    (GOOD, ping(data=bytes(1400))),
    (GOOD, arp(1, SERVER_IP)),
    ("runt", b"\0" * 10),
    ("runt", request()[:13]),
    ("runt", request()[:33]),
    ("runt", request()[:60]),
    ("runt", ether(ip(udp(message()), length=1000))),
    ("runt", ether(b"\0\x01", BROADCAST, 0x0806)[:30]),
    ("not_ipv4", ether(bytes(60), kind=0x86DD)),
    ("tagged", ether(b"\0\x05\x08\0" + ip(udp(message())), kind=0x8100)),
    ("double_tagged", ether(b"\0\x05\x81\0\0\x06\x08\0" + ip(udp(message())), kind=0x88A8)),
    ("not_ipv4", ether(bytes(60), kind=46)),
    ("bad_ip_header", ether(ip(udp(message()), version=6))),
    ("bad_ip_header", ether(ip(udp(message()), words=4))),
    ("bad_ip_header", ether(ip(udp(message()), length=19))),
    ("bad_ip_header", ether(ip(udp(message()), words=15, length=59))),
    ("bad_ip_checksum", ether(ip(udp(message()), damage=1))),
    ("bad_ip_checksum", ether(ip(udp(message()), words=6))),
    ("ip_fragment", ether(ip(udp(message()), fragment=0x2000))),
    ("ip_fragment", ether(ip(udp(message()), fragment=1))),
    ("not_udp", ether(ip(udp(message()), protocol=6))),
    ("not_for_us", ether(ip(udp(message())), to=STRANGER)),
    ("not_for_us", ether(ip(udp(message())), to=BROADCAST)),
    ("not_for_us", ether(ip(udp(message()), to=bytes([10, 77, 0, 9])))),
    ("bad_udp_length", ether(ip(udp(message(), length=7)))),
    ("bad_udp_length", ether(ip(udp(message(), length=0)))),
    ("bad_udp_length", ether(ip(udp(message(), length=65535)))),
    ("bad_udp_length", ether(ip(b"\0\x01\0"))),
    ("bad_udp_checksum", ether(ip(udp(message(), checksum=0x1234)))),
    ("unknown_port", ether(ip(udp(message(), port=PORT - 1)))),
    ("unknown_port", ether(ip(udp(message(), port=0)))),
    ("unknown_port", ether(ip(udp(message(), port=65535)))),
    ("arp_not_for_us", arp(1, bytes([10, 77, 0, 9]))),
    ("bad_arp", arp(3, SERVER_IP)),
    ("bad_arp", arp(1, SERVER_IP, sender=BROADCAST)),
    ("bad_arp", arp(1, SERVER_IP, protocol=0x86DD)),
    ("arp_unasked", arp(2, SERVER_IP)),
    ("arp_unasked", arp(1, CLIENT_IP)),
    ("bad_icmp", ping(kind=0)),
    ("bad_icmp", ping(kind=5)),
    ("bad_icmp", ping(code=1)),
    ("bad_icmp", ping(damage=1)),
    ("bad_icmp", ether(ip(b"\x08\0", protocol=1))),
    ("bad_message_header", ether(ip(udp(b"")))),
    ("bad_message_header", ether(ip(udp(bytes(15))))),
    ("bad_message_header", request(kind=RESPONSE)),
    ("bad_message_header", request(kind=0x21)),
    ("wrong_workload", request(workload=1)),
    ("wrong_workload", request(workload=255)),
    ("bad_segment_count", request(segments=0)),
    ("bad_segment_count", request(segments=2)),
    ("bad_segment_count", request(segments=65535, segment=65534)),
    ("bad_segment_index", request(segment=1)),
    ("bad_segment_length", request(body=b"")),
    ("bad_segment_length", request(body=BODY + b"!")),
    ("bad_segment_length", request(body=bytes(1400))),
]
"""What becomes of each frame at a server whose only workload is `l_app` with requests of 86 bytes, on one queue."""


def capture(file: Path, frames: list[bytes]) -> Path:
    """Writes a pcap of Ethernet frames."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(frames):
        out += struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame
    file.write_bytes(out)
    return file
