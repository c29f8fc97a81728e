"""Why a packet may be dropped: each name that the engine counts drops under (engine/core/drop.h), with its cause and what to do."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Drop:
    """`used`: the endpoint could use the packet: a handler decided, its message had met its fate, or the scenario emulates the loss."""

    cause: str
    remedy: str
    used: bool = False

    @property
    def words(self) -> str:
        return f"{self.cause} {self.remedy}"


_SENDER = (
    "Check the program that sends these frames: it makes malformed frames, or a device on the path truncates them."
)
_FOREIGN = (
    "This is traffic of other hosts or programs. If there is much of it, use an interface that only this run uses."
)
_OTHER_END = "The two ends run different scenarios: start both with the same file and the same release."
_SAME_SIZES = "Set `request`, `response` and `mtu` to the same values on both ends."
_DUPLICATES = "The wire or the network delivers packets twice: set `wire.faults.duplicate` to 0, or look for a loop in the network."
_IN_TIME = "Raise `timeout` of the workload above the latency, or lower the load."

DROPS: Final[dict[str, Drop]] = {
    "runt": Drop("The frame is shorter than its headers, or than the length in its IP header.", _SENDER),
    "chained": Drop(
        "The driver spread the frame over several mbufs, because it is longer than one.",
        "Raise `mtu` of the endpoint to that of the sender, or lower the sender's.",
    ),
    "untagged": Drop(
        "The frame has no VLAN tag, and the endpoint is in a VLAN.",
        "Leave out `vlan` of the endpoint, or let the sender tag its frames.",
    ),
    "tagged": Drop(
        "The frame has a VLAN tag, and the endpoint is in no VLAN.",
        "Set `vlan` of the endpoint to the number of the tag.",
    ),
    "other_vlan": Drop(
        "The VLAN tag of the frame names another VLAN, or is that of a provider (IEEE 802.1ad).",
        "Set `vlan` to the same number on both ends.",
    ),
    "double_tagged": Drop(
        "The frame has a VLAN tag within another one.", "Let the switch or the sender take one of the tags off."
    ),
    "not_ipv4": Drop(
        "The endpoint has an IPv4 address, and the frame is neither IPv4 nor ARP.",
        f"Give the endpoint an IPv6 address if the traffic is IPv6. {_FOREIGN}",
    ),
    "bad_ip_header": Drop("The version, the header length or the total length in the IP header is invalid.", _SENDER),
    "bad_ip_checksum": Drop(
        "The checksum of the IPv4 header is wrong.",
        "A capture of a host that leaves checksums to its NIC has wrong ones: capture at the receiver, or compute them again.",
    ),
    "not_ipv6": Drop(
        "The endpoint has an IPv6 address, and the frame is not IPv6.",
        f"Give the endpoint an IPv4 address if the traffic is IPv4. {_FOREIGN}",
    ),
    "ip_extension": Drop(
        "The IPv6 packet has an extension header, and Windtunnel reads none.", "Let the sender leave it out."
    ),
    "ip_fragment": Drop(
        "The packet is a fragment, and Windtunnel does not put fragments together.",
        "Lower the size of the sender's packets to the MTU of the path.",
    ),
    "not_udp": Drop(
        "The packet is neither UDP nor a ping.",
        f"Messages are taken over UDP only; a workload with `stream` takes TCP over IPv4. {_FOREIGN}",
    ),
    "not_for_us": Drop(
        "The frame is addressed to another MAC address or another IP address.",
        f"Let the sender use `ip` and `mac` of the endpoint, or change them to its destination. {_FOREIGN}",
    ),
    "bad_udp_length": Drop("The length in the UDP header does not fit the IP packet.", _SENDER),
    "bad_udp_checksum": Drop(
        "The UDP checksum is wrong, or is 0 over IPv6.",
        "UDP of the kernel at the other end of a veth has a partial checksum: switch it off there with `ethtool -K INTERFACE tx off`. "
        "A capture of a host that leaves checksums to its NIC has wrong ones: capture at the receiver, or compute them again.",
    ),
    "unknown_port": Drop(
        "No queue of the endpoint has the UDP port of the packet.",
        "Queue q has the UDP port `port` + q: let the sender use these, or change `port`, or raise `dispatchers`.",
    ),
    "misdirected": Drop(
        "The packet came to another queue than that of its UDP port.",
        "The NIC or the kernel spreads flows by its own hash. On `pci` try another `steering`; on other wires use one dispatcher.",
    ),
    "arp_not_for_us": Drop("An ARP request asks for another address than the endpoint's.", _FOREIGN),
    "bad_arp": Drop(
        "The ARP packet is not one of IPv4 over Ethernet, is neither a request nor a reply, or its sender has a group address.",
        _FOREIGN,
    ),
    "arp_unasked": Drop(
        "An ARP reply or announcement came that the endpoint had not asked for. Addresses are fixed when the run starts.",
        _FOREIGN,
    ),
    "bad_neighbour": Drop(
        "A message of IPv6 neighbour discovery is malformed, or was not sent on this link (RFC 4861).", _FOREIGN
    ),
    "neighbour_not_for_us": Drop("A neighbour solicitation asks for another address than the endpoint's.", _FOREIGN),
    "neighbour_unasked": Drop(
        "A neighbour advertisement came that the endpoint had not asked for. Addresses are fixed when the run starts.",
        _FOREIGN,
    ),
    "bad_icmp": Drop(
        "The ICMP packet has a wrong checksum, or is no request that gets a reply: only an echo request (ping) of one host does.",
        _FOREIGN,
    ),
    "bad_message_header": Drop(
        "The payload is shorter than a message header, or its version or kind is unknown.",
        "Only Windtunnel's own client sends messages. For the traffic of other programs use a packet handler without a message handler.",
    ),
    "bad_hello": Drop("A hello of the handshake is malformed.", _OTHER_END),
    "stray_hello": Drop(
        "A hello belongs to another session, or came to the wrong side.",
        "A client or server of an earlier run may still send: stop it, or give this run another `port`.",
    ),
    "refused_hello": Drop(
        "The server refused a client that does not fit: another release, another plan, or a second client.",
        "The message of the client names the reason. Start both ends with the same file and the same release, and one client for each server.",
    ),
    "wrong_workload": Drop("The message belongs to another workload than its queue.", _OTHER_END),
    "unknown_application": Drop("The message names an application that the client does not have.", _OTHER_END),
    "bad_slot": Drop("The message names a slot beyond the in-flight limit.", _OTHER_END),
    "bad_segment_count": Drop(
        "The message has another number of segments than its workload allows, or than its first segment said.",
        _SAME_SIZES,
    ),
    "bad_segment_index": Drop("The number of the segment is not below the number of segments.", _SAME_SIZES),
    "bad_segment_length": Drop("The segment has another length than its place in the message requires.", _SAME_SIZES),
    "duplicate_segment": Drop("The segment of a message came twice.", _DUPLICATES),
    "stale_segment": Drop(
        "The segment belongs to an older message than the one in its slot: it was overtaken.",
        f"The network reorders or delays packets by more than the timeout. {_IN_TIME}",
    ),
    "superseded": Drop(
        "Segments of the message are missing, and a newer message took its slot.",
        f"A segment was lost or came after the timeout: find the loss among the other drops. {_IN_TIME}",
    ),
    "late_response": Drop("The response came after the timeout: its message counts as lost.", _IN_TIME, used=True),
    "duplicate_response": Drop("The message already had its response.", _DUPLICATES, used=True),
    "without_response": Drop(
        "The message handler sent no response to this request.",
        "This is the handler's decision: look at its counters.",
        used=True,
    ),
    "by_handler": Drop(
        "The packet handler dropped the packet.",
        "This is the handler's decision: its rules, its counters and its action on a miss say why.",
        used=True,
    ),
    "no_message_handler": Drop(
        "The packet handler passed the packet on, and the workload has no message handler; or UDP came to a stream.",
        "Name a message handler in the workload (`handler`), or let the packet handler forward or drop what it receives.",
        used=True,
    ),
    "reply_no_room": Drop(
        "The port had no room for the reply to an ARP request, a ping or a hello.",
        "The sender asks again. If many are dropped, lower the load or raise `tx_descriptors`.",
        used=True,
    ),
    "emulated_loss": Drop(
        "The emulated wire lost the packet: `wire.faults.loss` is above 0.",
        "Set `wire.faults.loss` to 0 for a wire without loss.",
        used=True,
    ),
    "emulated_queue_full": Drop(
        "The queue of the emulated link was full.",
        "Lower the load, or raise `rate` or `queue` of `wire.link`.",
        used=True,
    ),
}
"""By name, in the order of the engine."""
