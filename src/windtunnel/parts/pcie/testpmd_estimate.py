"""PCIe traffic of testpmd's packets, from the lines that `--record-burst-stats` adds to its statistics.

testpmd prints no rate and no size: both come from the command line. It truncates its percentages, so the number of calls
without a packet is known within one in a hundred. Each average of the burst has bounds that include this error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.exchange.source import Fault, read
from windtunnel.exchange.testpmd import Bursts, parse
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.estimate import Settings, Traffic, estimate
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.nic import Nic
from windtunnel.parts.pcie.port_estimate import PortEstimate, Queue

RECORD = "testpmd with --record-burst-stats prints them, as in RX-bursts : 1000 [10% of 0 pkts + 90% of 32 pkts]"
_STREAM = re.compile(r"stream (\d+):(\d+) -> (\d+):(\d+)")
_THRESHOLDS = (
    ("rx_free", r"RX free threshold=([0-9]{1,9})(?![0-9])"),
    ("tx_rs", r"TX RS bit threshold=([0-9]{1,9})(?![0-9])"),
)


@dataclass(frozen=True)
class Counted:
    """Bursts of one direction of one queue, from percentages. The true average is between `low` and `high`."""

    port: str
    queue: int | None
    way: str
    packets: int
    batches: Batches
    low: float
    high: float


def counted(bursts: Bursts, packets: int) -> Counted | None:
    """One direction of a queue; None if no packet passed, or none in a burst that was counted."""
    sizes = [size for size, _ in bursts.shares if size]
    all_sizes_known = all(size is not None for size, _ in bursts.shares)
    if not packets or not bursts.calls or (all_sizes_known and not sizes):
        return None
    smallest, largest = (min(sizes), max(sizes)) if all_sizes_known else (1, 512)
    empty = next((share for size, share in bursts.shares if size == 0), 0)
    fewest, at_most = (
        _within(bursts.calls * (100 - share) / 100, packets / largest, packets / smallest)
        for share in (empty + 1, empty)
    )
    calls = (fewest + at_most) / 2
    if all_sizes_known and len(sizes) == 2:
        larger = (packets - smallest * calls) / (largest - smallest)
        batches = Batches.of({smallest: calls - larger, largest: larger})
    else:
        batches = Batches.of({sizes[0]: packets / sizes[0]}) if all_sizes_known else Batches.of_mean(packets, calls)
    return Counted(*_place(bursts), bursts.way, packets, batches, packets / at_most, packets / fewest)


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _place(bursts: Bursts) -> tuple[str, int | None]:
    """Port and queue of a stream; only the port if the line is the port's own."""
    if stream := _STREAM.fullmatch(bursts.place):
        rx, rxq, tx, txq = stream.groups()
        return (rx, int(rxq)) if bursts.way == "RX" else (tx, int(txq))
    return bursts.place.removeprefix("port "), None


def read_counted(file: Path) -> tuple[list[Counted], Settings]:
    """The bursts of the last report in a text, and the thresholds that testpmd printed. Raises UserError with file and line."""
    foreign = read(file)
    parsed, faults = parse(foreign.text)
    if parsed is None:
        raise foreign.error(faults)
    directions = [direction for bursts, packets in parsed.bursts if (direction := counted(bursts, packets))]
    if not directions:
        raise foreign.error([Fault(0, "no bursts in the statistics", RECORD)])
    thresholds = {name: {int(n) for n in re.findall(pattern, foreign.text)} - {0} for name, pattern in _THRESHOLDS}
    return directions, Settings(**{name: numbers.pop() for name, numbers in thresholds.items() if len(numbers) == 1})


def ports_of(
    directions: Sequence[Counted], nic: Nic, settings: Settings, link: Link, size: float, pps: float | None
) -> list[PortEstimate]:
    """`pps`: packets that testpmd received a second, in all, divided among the queues by their counts. None: bytes per packet are known,
    rates are not."""
    received = sum(direction.packets for direction in directions if direction.way == "RX")
    if not received and pps:
        raise UserError(
            "testpmd received no packet: --pps cannot be divided among its queues", remedy="the same without --pps"
        )
    counts = {(direction.port, direction.queue, direction.way): direction for direction in directions}
    places = sorted(
        {(direction.port, direction.queue) for direction in directions},
        key=lambda place: (int(place[0]), place[1] or 0),
    )
    ports: dict[str, list[Queue]] = {}
    for place in places:
        rx, tx = (counts.get((*place, way)) for way in ("RX", "TX"))
        traffic = Traffic(
            _rate(rx, pps, received),
            _rate(tx, pps, received),
            size if rx else None,
            size if tx else None,
            rx.batches if rx else Batches({}),
            tx.batches if tx else Batches({}),
        )
        ports.setdefault(place[0], []).append(Queue(place[1], estimate(traffic, nic, settings, link)))
    return [
        PortEstimate(f"port {name}", nic.name, nic.nic.title, False, link, queues) for name, queues in ports.items()
    ]


def _rate(direction: Counted | None, pps: float | None, received: int) -> float | None:
    if direction is None:
        return 0.0
    return None if pps is None else pps * direction.packets / received
