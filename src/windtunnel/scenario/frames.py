"""An endpoint's frames: their IP version, and the bytes around what a message has of them."""

from ipaddress import ip_address

from windtunnel.scenario.keys import Client, Server

ETHERNET_BYTES = 14 + 4
"""Header and frame check sequence."""
VLAN_TAG_BYTES = 4
UDP_HEADER_BYTES = 8
IPV4_HEADER_BYTES, IPV6_HEADER_BYTES = 20, 40
SMALLEST_FRAME_BYTES = 60
"""Size without the frame check sequence (IEEE 802.3) and without a tag."""


def around_ip_bytes(keys: Client | Server) -> int:
    """Bytes of a frame around its IP packet, FCS included."""
    return ETHERNET_BYTES + tag_bytes(keys)


def tag_bytes(keys: Client | Server) -> int:
    return VLAN_TAG_BYTES if keys.vlan else 0


def ip_udp_header_bytes(keys: Client | Server) -> int:
    """What the MTU holds beside the UDP payload."""
    return (IPV6_HEADER_BYTES if ip_version(keys.ip) == 6 else IPV4_HEADER_BYTES) + UDP_HEADER_BYTES


def ip_version(ip: str) -> int:
    """4 or 6."""
    return ip_address(ip).version
