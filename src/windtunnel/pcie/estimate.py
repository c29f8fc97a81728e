"""The equations: what one packet moves over the link, and from it rates, utilisation and the rate at which the link is full.

As the VTune recipe "PCIe Traffic in DPDK Apps" has its steps, for R packets a second of S bytes, descriptors of D bytes, a tail register of W:
Inbound Read R (D_rx + D_tx + S), Inbound Write R (S + D_rx + D_tx / T_rs), Outbound Read 0, Outbound Write R W (1/max(T_rxf, B_rx) + 1/B_tx).
Here what is received and what is sent are apart, because a queue may do more of one.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import ceil

from windtunnel.errors import UserError
from windtunnel.pcie.batches import Batches
from windtunnel.pcie.link import Link, OnWire
from windtunnel.pcie.nic import Nic

MB = 1e6
BITS = 8
LEAST_RING, MOST_RING = 4, 65535
"""Descriptors: the least that leaves room for a threshold of 1, the most that ethdev's 16 bits can say."""


@dataclass(frozen=True)
class Settings:
    """What an application chooses of a queue; None: as the NIC's driver has it."""

    rx_free: int | None = None
    tx_rs: int | None = None
    rx_ring: int | None = None
    """Descriptors; None: not known, nothing is held against it."""
    tx_ring: int | None = None
    inline: int | None = None
    """Packets up to so many bytes are sent within their descriptors."""
    compressed: float = 0.0
    """Share of received packets whose write-back the NIC compresses."""

    def of(self, nic: Nic) -> "Settings":
        """Every choice made. Raises UserError for thresholds that no ring takes."""
        made = replace(
            self,
            rx_free=nic.rx.free_threshold.number if self.rx_free is None else self.rx_free,
            tx_rs=nic.tx.rs_threshold.number if self.tx_rs is None else self.tx_rs,
            inline=nic.tx.inline.number if self.inline is None else self.inline,
        )
        made.check()
        return made

    def __post_init__(self) -> None:
        for name in ("rx_ring", "tx_ring"):
            if (ring := getattr(self, name)) is not None and not LEAST_RING <= ring <= MOST_RING:
                raise UserError(f"{name} has {ring} descriptors", remedy=f"a ring of {LEAST_RING} to {MOST_RING}")

    def check(self) -> None:
        _threshold("rx_free", self.rx_free, 0, self.rx_ring, 1)
        _threshold("tx_rs", self.tx_rs, 1, self.tx_ring, 3)
        if self.inline is not None and self.inline < 0:
            raise UserError(f"inline is {self.inline}", remedy="bytes from 0 on; 0: nothing is sent within descriptors")
        if not 0 <= self.compressed <= 1:
            raise UserError(f"compressed is {self.compressed}", remedy="a share from 0 to 1")


def _threshold(name: str, value: int | None, least: int, ring: int | None, spare: int) -> None:
    if value is not None and value < least:
        raise UserError(f"{name} is {value}", remedy=f"descriptors from {least} on")
    if value is not None and ring is not None and value > ring - spare:
        raise UserError(
            f"{name} is {value}, and the ring has {ring} descriptors", remedy=f"a threshold of at most {ring - spare}"
        )


@dataclass(frozen=True)
class Traffic:
    """What one queue carries. Rates are packets a second, None where they are not known; sizes are bytes by DMA."""

    rx_pps: float | None
    tx_pps: float | None
    rx_size: float | None
    tx_size: float | None
    rx_batches: Batches
    tx_batches: Batches

    def __post_init__(self) -> None:
        for name in ("rx_pps", "tx_pps"):
            if (rate := getattr(self, name)) is not None and rate < 0:
                raise UserError(f"{name} is {rate:g}", remedy="packets a second, from 0 on")
        for name in ("rx_size", "tx_size"):
            if (size := getattr(self, name)) is not None and not 1 <= size <= 65535:
                raise UserError(
                    f"a packet of {size:g} bytes", remedy="bytes from 1 to 65535, without the frame check sequence"
                )


@dataclass(frozen=True)
class Cost:
    """Bytes that one packet costs: payload of each kind of transfer, and all of it on the wire."""

    inbound_read: float = 0.0
    inbound_write: float = 0.0
    outbound_read: float = 0.0
    outbound_write: float = 0.0
    up: float = 0.0
    down: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(getattr(self, name) + getattr(other, name) for name in COSTS))

    def times(self, factor: float) -> "Cost":
        return Cost(*(getattr(self, name) * factor for name in COSTS))


COSTS = ("inbound_read", "inbound_write", "outbound_read", "outbound_write", "up", "down")


class Loaded(ABC):
    """What moves bytes over a link."""

    link: Link

    @property
    @abstractmethod
    def rate(self) -> Cost | None:
        """Bytes a second; None: rates are not known."""

    @property
    def utilisation(self) -> OnWire | None:
        """Shares of what the link can carry."""
        rate, most = self.rate, self.link.usable
        return None if rate is None else OnWire(rate.up / most, rate.down / most)

    @property
    def ceiling(self) -> float | None:
        """Times that this traffic may grow, sizes and bursts staying as they are, until the link is full."""
        used = self.utilisation
        return 1 / max(used) if used and max(used) else None


@dataclass(frozen=True)
class Estimate(Loaded):
    """Of one queue, or the sum of a port's. `received` and `sent` are what a packet costs each way, None where nothing is known of it;
    `worded` is the outbound write in bytes a second with the other average of the batch, None where it is not known."""

    traffic: Traffic
    settings: Settings
    link: Link
    received: Cost | None
    sent: Cost | None
    worded: float | None

    @property
    def rate(self) -> Cost | None:
        """Bytes a second; None: rates are not known."""
        parts = [(self.received, self.traffic.rx_pps), (self.sent, self.traffic.tx_pps)]
        if any(pps is None or (cost is None and pps) for cost, pps in parts):
            return None
        return sum((cost.times(pps) for cost, pps in parts if cost is not None), Cost())

    @property
    def packet(self) -> Cost | None:
        """Of a packet that is received and sent again: what a link carries for each, whatever the rate."""
        return self.received + self.sent if self.received and self.sent else self.received or self.sent

    @property
    def ceiling_pps(self) -> float | None:
        """Packets a second that the link carries of packets that are received and sent again."""
        return self.link.usable / max(self.packet.up, self.packet.down) if self.packet else None


def estimate(traffic: Traffic, nic: Nic, settings: Settings, link: Link) -> Estimate:
    """Raises UserError for settings that the NIC's rings do not take."""
    settings = settings.of(nic)
    rx_bells, tx_bells = _rx_doorbells(traffic.rx_batches.exact, settings), traffic.tx_batches.doorbells(_limit(nic))
    rx_worded, tx_worded = (
        _rx_doorbells(traffic.rx_batches.worded, settings),
        _inverse(traffic.tx_batches.worded, _limit(nic)),
    )
    received = _received(traffic.rx_size, rx_bells, nic, settings, link)
    sent = _sent(traffic.tx_size, traffic.tx_batches.exact, tx_bells, nic, settings, link)
    return Estimate(traffic, settings, link, received, sent, _worded(traffic, nic, rx_worded, tx_worded))


def _limit(nic: Nic) -> int:
    return nic.tx.doorbell_packets.number


def _rx_doorbells(burst: float | None, settings: Settings) -> float | None:
    """Tail writes a received packet: descriptors are given back when more than the threshold are free, after a burst at the earliest."""
    return None if burst is None else 1 / max(burst, settings.rx_free)


def _inverse(burst: float | None, at_most: int) -> float | None:
    return None if burst is None else 1 / (min(burst, at_most) if at_most else burst)


def _worded(traffic: Traffic, nic: Nic, rx_bells: float | None, tx_bells: float | None) -> float | None:
    parts = [
        (traffic.rx_pps, nic.rx.doorbell.number, rx_bells),
        (traffic.tx_pps, nic.tx.doorbell.number, tx_bells),
    ]
    if any(pps is None or (pps and bells is None) for pps, _, bells in parts):
        return None
    return sum(pps * size * bells for pps, size, bells in parts if pps)


def _received(size: float | None, bells: float | None, nic: Nic, settings: Settings, link: Link) -> Cost | None:
    """Fetch a descriptor, write the packet, write the descriptor back; now and then a tail register. Compressed write-backs share a write."""
    if size is None or bells is None:
        return None
    rx, part = nic.rx, settings.compressed
    whole, small = rx.write_back.number, rx.compressed_write_back.number
    fetch = _shared(link.read, rx.descriptor.number, rx.fetched_together.number)
    back, compressed = (
        _shared(link.write, whole, rx.written_together.number),
        _shared(link.write, small, whole // small),
    )
    data, bell = link.write(size), link.register(rx.doorbell.number)
    return Cost(
        inbound_read=rx.descriptor.number,
        inbound_write=size + (1 - part) * whole + part * small,
        outbound_write=rx.doorbell.number * bells,
        up=fetch.up + data.up + (1 - part) * back.up + part * compressed.up,
        down=fetch.down + bell.down * bells,
    )


def _sent(
    size: float | None, burst: float | None, bells: float | None, nic: Nic, settings: Settings, link: Link
) -> Cost | None:
    """A tail register; fetch a descriptor, read the packet; a status report every so many."""
    if size is None or burst is None or bells is None:
        return None
    tx = nic.tx
    inlined = size <= settings.inline
    descriptor = _descriptors(tx.header.number, tx.descriptor.number + (size if inlined else 0), tx.unit.number, burst)
    fetch = _shared(link.read, descriptor, tx.fetched_together.number)
    data = OnWire(0, 0) if inlined else link.read(size)
    back, bell = link.write(tx.write_back.number), link.register(tx.doorbell.number)
    return Cost(
        inbound_read=descriptor + (0 if inlined else size),
        inbound_write=tx.write_back.number / settings.tx_rs,
        outbound_write=tx.doorbell.number * bells,
        up=fetch.up + data.up + back.up / settings.tx_rs,
        down=fetch.down + data.down + bell.down * bells,
    )


def _descriptors(header: int, each: float, unit: int, burst: float) -> float:
    """Bytes of descriptors a packet: those of a burst have a header together and are rounded up to whole units."""
    return ceil((header + each * burst) / unit) * unit / burst if header else ceil(each / unit) * unit


def _shared(move, size: float, together: int) -> OnWire:
    """What one of so many that are moved at once costs on the wire."""
    whole = move(size * together)
    return OnWire(whole.up / together, whole.down / together)
