"""Whether the packets of a run were those that its question is about: a run in which none was used measures nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence

from windtunnel.engine.windows import Window
from windtunnel.runs.validity import Check

OWN = ("by_handler", "without_response", "no_message_handler", "reply_no_room", "late_response", "duplicate_response")
"""Drops of packets that were used: a handler's verdict, or a message's fate."""
REMEDIES = {
    "tagged": "they have a VLAN tag: {side}.vlan = its number takes them",
    "untagged": "they have no VLAN tag: leave out {side}.vlan",
    "other_vlan": "they are of another VLAN than {side}.vlan",
    "not_for_us": "they are addressed to another MAC or IP address than the {side}'s",
    "not_udp": "only UDP is taken",
    "not_ipv4": "only IPv4 is taken, or IPv6 if the {side} has an IPv6 address",
    "unknown_port": "no queue of the {side} has their UDP port",
    "bad_udp_checksum": "a capture of a host that leaves checksums to its NIC has wrong ones",
    "bad_ip_checksum": "a capture of a host that leaves checksums to its NIC has wrong ones",
    "chained": "they are longer than an mbuf",
}
_MOST_NAMED = 3


def traffic_check(windows: Mapping[str, Sequence[Window]], window_ns: int = 0) -> Check:
    """Judges the measured windows of all engines. Bad if no packet was received or sent; a warning if one side could use none of those that it
    received. `window_ns`: of the plan; a run that was stopped in its first window has shown nothing."""
    received, sent, dropped = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    for window in (window for of_engine in windows.values() for window in of_engine):
        for port in window.ports:
            received[port.endpoint] += port.rx_packets
            sent[port.endpoint] += port.tx_packets
        for stage in window.stages:
            unused = {
                why: count for why, count in stage.drops.items() if why not in OWN and not why.startswith("emulated")
            }
            dropped.setdefault(stage.endpoint, Counter()).update(unused)
    if not any(window.end_ns - window.start_ns >= window_ns for of_engine in windows.values() for window in of_engine):
        return Check(name="traffic", state="unknown", words="no whole window was measured")
    if not received.total() and not sent.total():
        return Check(name="traffic", state="bad", words="no packet was received or sent: nothing was measured")
    for side, count in received.items():
        reasons = dropped.get(side, Counter())
        if count and reasons.total() >= count:
            return Check(name="traffic", state="warning", words=_words(side, count, reasons), value=1.0)
    return Check(name="traffic", state="good", words="each side used packets that it received")


def _words(side: str, count: int, reasons: Counter[str]) -> str:
    most = reasons.most_common(_MOST_NAMED)
    named = ", ".join(f"{why} {number:,}" for why, number in most)
    remedy = REMEDIES.get(most[0][0], "").format(side=side)
    return f"the {side} dropped all {count:,} packets that it received ({named})" + (f": {remedy}" if remedy else "")
