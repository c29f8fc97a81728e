"""Command-line options of traffic: rates, sizes and bursts. Each function raises UserError for a bad value."""

import re

from windtunnel.errors import UserError
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import Traffic
from windtunnel.scenario import quantities

MAX_BURST = 1024
_PART = re.compile(r"([0-9]{1,6})(?::([0-9]{1,9}(?:\.[0-9]{1,9})?))?")


def rate(text: str, option: str = "--pps") -> float:
    """Packets per second: 10M, 14.88M, 9500k, 10Mpps."""
    return float(quantities.option(option, "rate", text, "0.001pps", "1000Mpps"))


def size(text: str) -> int:
    """Bytes of a packet: 64, 1500B."""
    return int(quantities.option("--size", "size", text, "1B", "65535B"))


def bursts(text: str, ring: int) -> Batches:
    """Bursts such as 4; 4,8: as many packets in bursts of each size; 4:3,8:1: three packets in fours for each in eights."""
    remedy = (
        f"packets per burst from 1 to {min(ring, MAX_BURST)}, as in 4, or 4,8, or 4:3,8:1 for shares of the packets"
    )
    packets: dict[int, float] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        number, weight = (int(match[1]), float(match[2] or 1)) if match else (0, 0.0)
        if not 1 <= number <= min(ring, MAX_BURST) or not weight or number in packets:
            raise UserError(f'--burst "{text}": "{part.strip()}" is not a burst size', remedy=remedy)
        packets[number] = weight
    return Batches.with_packets(packets)


def forwarding(pps: float, bytes_: int, batches: Batches) -> Traffic:
    """One queue that sends what it receives, in the bursts in which it came."""
    return Traffic(pps, pps, bytes_, bytes_, batches, batches)
