"""Makes scenarios/frames.pcap: UDP frames of the usual sizes for the server of pcap-replay.toml. Run: python tests/make_frames.py"""

import struct
from pathlib import Path

FILE = Path(__file__).parents[2] / "scenarios" / "frames.pcap"
SIZES = (60, 60, 60, 128, 128, 256, 512, 1024, 1514)
"""Bytes without FCS; more small ones than large, as on most links."""
SERVER_MAC, CLIENT_MAC = bytes.fromhex("027774000002"), bytes.fromhex("027774000001")
SERVER_IP, CLIENT_IP = bytes([10, 77, 0, 2]), bytes([10, 77, 0, 1])
PORT = 9000


def internet_checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(number: int, size: int) -> bytes:
    payload = bytes((number + offset) % 251 for offset in range(size - 42))
    length = 8 + len(payload)
    udp = struct.pack(">HHHH", 40000 + number, PORT, length, 0) + payload
    pseudo = CLIENT_IP + SERVER_IP + struct.pack(">BBH", 0, 17, length)
    udp = udp[:6] + struct.pack(">H", internet_checksum(pseudo + udp) or 0xFFFF) + udp[8:]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + length, number, 0, 64, 17, 0, CLIENT_IP, SERVER_IP)
    ip = ip[:10] + struct.pack(">H", internet_checksum(ip)) + ip[12:]
    return SERVER_MAC + CLIENT_MAC + b"\x08\x00" + ip + udp


def capture() -> bytes:
    """A pcap file, link type Ethernet, one frame a millisecond."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, size in enumerate(SIZES):
        out += struct.pack("<IIII", 0, number * 1000, size, size) + frame(number, size)
    return out


if __name__ == "__main__":
    FILE.write_bytes(capture())
