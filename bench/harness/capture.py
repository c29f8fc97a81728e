"""A capture for net_pcap to replay: UDP frames with true lengths and checksums from the client's address to the server's."""

import struct
from ipaddress import IPv4Address
from pathlib import Path

from windtunnel.scenario.keys import Client, Server

ETHERNET, UDP = 1, 17
IPV4 = 0x0800


def write_udp_capture(path: Path, frames: int, payload_bytes: int) -> None:
    """`frames` datagrams of `payload_bytes`, each with bytes of its own."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET))
        for number in range(frames):
            frame = _frame(bytes((number + i) & 0xFF for i in range(payload_bytes)))
            file.write(struct.pack("<IIII", 0, number, len(frame), len(frame)) + frame)


def _frame(payload: bytes) -> bytes:
    client, server = Client(), Server()
    addresses = IPv4Address(client.ip).packed + IPv4Address(server.ip).packed
    udp_length = 8 + len(payload)
    ip_start = struct.pack("!BBHHHBB", 0x45, 0, 20 + udp_length, 0, 0x4000, 64, UDP)
    ip = ip_start + struct.pack("!H", _checksum(ip_start + b"\0\0" + addresses)) + addresses
    udp_start = struct.pack("!HHH", client.port, server.port, udp_length)
    pseudo = addresses + struct.pack("!BBH", 0, UDP, udp_length)
    udp = udp_start + struct.pack("!H", _checksum(pseudo + udp_start + b"\0\0" + payload) or 0xFFFF)
    macs = bytes.fromhex(f"{server.mac}{client.mac}".replace(":", ""))
    return macs + struct.pack("!H", IPV4) + ip + udp + payload


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) & ~1])) + (data[-1] << 8 if len(data) & 1 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
