"""The words of a command line as rates, sizes and bursts. Each raises UserError for what is none."""

import re

from windtunnel.errors import UserError
from windtunnel.pcie.batches import Batches
from windtunnel.pcie.estimate import Traffic
from windtunnel.scenario.quantities import parse

HIGHEST_PPS = 1e9
MAX_BURST = 1024
_PART = re.compile(r"([0-9]{1,6})(?::([0-9]{1,9}(?:\.[0-9]{1,9})?))?")


def rate(text: str) -> float:
    """Packets a second: 10M, 14.88M, 9500k, 10Mpps."""
    for kind in ("count", "rate"):
        try:
            value = float(parse(kind, text))
        except ValueError:
            continue
        if 0 < value <= HIGHEST_PPS:
            return value
    raise UserError(f'--pps "{text}" is no packet rate', remedy="more than 0 and at most 1G, as in 10M or 14.88Mpps")


def size(text: str) -> int:
    """Bytes of a packet: 64, 1500B."""
    try:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else int(parse("size", text))
    except ValueError:
        value = 0
    if not 1 <= value <= 65535:
        raise UserError(f'--size "{text}" is no size of a packet', remedy="bytes from 1 to 65535, as in 64")
    return value


def bursts(text: str, ring: int) -> Batches:
    """4; 4,8: as many packets in bursts of each; 4:3,8:1: three packets in fours for each in eights."""
    remedy = f"packets a burst from 1 to {min(ring, MAX_BURST)}, as in 4, or 4,8, or 4:3,8:1 for shares of the packets"
    packets: dict[int, float] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        number, weight = (int(match[1]), float(match[2] or 1)) if match else (0, 0.0)
        if not 1 <= number <= min(ring, MAX_BURST) or not weight or number in packets:
            raise UserError(f'--burst "{text}": "{part.strip()}" is no burst', remedy=remedy)
        packets[number] = weight
    return Batches.with_packets(packets)


def forwarding(pps: float, bytes_: int, batches: Batches) -> Traffic:
    """One queue that sends what it receives, in the bursts in which it came."""
    return Traffic(pps, pps, bytes_, bytes_, batches, batches)
