"""The equations: the bytes that one packet moves over the link, and from them rates, utilisation and the rate at which the link is full.

The steps of the VTune recipe "PCIe Traffic in DPDK Apps", for R packets per second of S bytes, descriptors of D bytes, a tail register of W:
Inbound Read R (D_rx + D_tx + S), Inbound Write R (S + D_rx + D_tx / T_rs), Outbound Read 0, Outbound Write R W (1/max(T_rxf, B_rx) + 1/B_tx).
Receiving and sending are computed separately, because a queue may do more of one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from windtunnel.errors import UserError
from windtunnel.parts.pcie.batches import Batches
from windtunnel.parts.pcie.link import Link, OnWire
from windtunnel.parts.pcie.nic import Nic

MB = 1e6
BITS = 8
LEAST_RING, MOST_RING = 4, 65535
"""Descriptors: the least that leaves room for a threshold of 1, and the most in ethdev's 16 bits."""


@dataclass(frozen=True)
class Effective:
    """The settings of a queue, with the defaults of the NIC's driver. Raises UserError for thresholds that no ring supports."""

    rx_free: int
    tx_rs: int
    rx_ring: int | None
    tx_ring: int | None
    inline: int
    compressed: float

    def __post_init__(self) -> None:
        _threshold("rx_free", self.rx_free, 0, self.rx_ring, 1)
        _threshold("tx_rs", self.tx_rs, 1, self.tx_ring, 3)
        if self.inline < 0:
            raise UserError(f"inline is {self.inline}", remedy="bytes, from 0 on; 0 sends nothing inline")
        if not 0 <= self.compressed <= 1:
            raise UserError(f"compressed is {self.compressed}", remedy="a share from 0 to 1")


@dataclass(frozen=True)
class Settings:
    """Settings of a queue that an application chooses. None: the default of the NIC's driver."""

    rx_free: int | None = None
    tx_rs: int | None = None
    rx_ring: int | None = None
    """Descriptors. None: not known, and no threshold is checked against it."""
    tx_ring: int | None = None
    inline: int | None = None
    """Packets of up to this many bytes are sent inline, within their descriptors."""
    compressed: float = 0.0
    """Share of received packets whose write-back the NIC compresses."""

    def of(self, nic: Nic) -> Effective:
        """The settings with the NIC's defaults. Raises UserError for thresholds that no ring supports."""
        return Effective(
            rx_free=nic.rx.free_threshold.number if self.rx_free is None else self.rx_free,
            tx_rs=nic.tx.rs_threshold.number if self.tx_rs is None else self.tx_rs,
            rx_ring=self.rx_ring,
            tx_ring=self.tx_ring,
            inline=nic.tx.inline.number if self.inline is None else self.inline,
            compressed=self.compressed,
        )

    def __post_init__(self) -> None:
        for name in ("rx_ring", "tx_ring"):
            if (ring := getattr(self, name)) is not None and not LEAST_RING <= ring <= MOST_RING:
                raise UserError(f"{name} has {ring} descriptors", remedy=f"a ring of {LEAST_RING} to {MOST_RING}")


def _threshold(name: str, value: int, least: int, ring: int | None, spare: int) -> None:
    if value < least:
        raise UserError(f"{name} is {value}", remedy=f"descriptors, from {least} on")
    if ring is not None and value > ring - spare:
        raise UserError(
            f"{name} is {value}, and the ring has {ring} descriptors", remedy=f"a threshold of at most {ring - spare}"
        )


@dataclass(frozen=True)
class Traffic:
    """The traffic of one queue. Rates are packets per second, None if they are not known; sizes are bytes by DMA."""

    rx_pps: float | None
    tx_pps: float | None
    rx_size: float | None
    tx_size: float | None
    rx_batches: Batches
    tx_batches: Batches

    def __post_init__(self) -> None:
        for name in ("rx_pps", "tx_pps"):
            if (rate := getattr(self, name)) is not None and rate < 0:
                raise UserError(f"{name} is {rate:g}", remedy="packets per second, from 0 on")
        for name in ("rx_size", "tx_size"):
            if (size := getattr(self, name)) is not None and not 1 <= size <= 65535:
                raise UserError(
                    f"a packet of {size:g} bytes", remedy="bytes from 1 to 65535, without the frame check sequence"
                )


@dataclass(frozen=True)
class Cost:
    """Cost of one packet in bytes: the payload of each kind of transfer, and the bytes on the wire."""

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
    """Traffic on a link."""

    link: Link

    @property
    @abstractmethod
    def rate(self) -> Cost | None:
        """Bytes a second; None: rates are not known."""

    @property
    def utilisation(self) -> OnWire | None:
        """Shares of the link's capacity."""
        rate, capacity = self.rate, self.link.usable
        return None if rate is None else OnWire(rate.up / capacity, rate.down / capacity)

    @property
    def ceiling(self) -> float | None:
        """Factor by which this traffic may grow, with the same sizes and bursts, until the link is full."""
        used = self.utilisation
        return 1 / max(used) if used and max(used) else None


@dataclass(frozen=True)
class Estimate(Loaded):
    """Estimate of one queue. `received` and `sent` are the cost of a packet each way, None if it is not known. `worded` is the outbound
    write in bytes per second with the other average of the burst, None if it is not known."""

    traffic: Traffic
    settings: Effective
    link: Link
    received: Cost | None
    sent: Cost | None
    worded: float | None

    @property
    def rate(self) -> Cost | None:
        """Bytes a second; None: rates are not known."""
        total = Cost()
        for cost, pps in ((self.received, self.traffic.rx_pps), (self.sent, self.traffic.tx_pps)):
            if pps is None or (cost is None and pps):
                return None
            if cost is not None:
                total += cost.times(pps)
        return total

    @property
    def packet(self) -> Cost | None:
        """Cost of a packet that is received and forwarded, at any rate."""
        return self.received + self.sent if self.received and self.sent else self.received or self.sent

    @property
    def ceiling_pps(self) -> float | None:
        """Packets per second that the link carries, if each is received and forwarded."""
        return self.link.usable / max(self.packet.up, self.packet.down) if self.packet else None


def estimate(traffic: Traffic, nic: Nic, settings: Settings, link: Link) -> Estimate:
    """The estimate of one queue. Raises UserError for settings that the NIC's rings do not support."""
    used = settings.of(nic)
    rx_bells, tx_bells = _rx_doorbells(traffic.rx_batches.exact, used), traffic.tx_batches.doorbells(_limit(nic))
    rx_worded, tx_worded = (
        _rx_doorbells(traffic.rx_batches.worded, used),
        _inverse(traffic.tx_batches.worded, _limit(nic)),
    )
    received = _received(traffic.rx_size, rx_bells, nic, used, link)
    sent = _sent(traffic.tx_size, traffic.tx_batches.exact, tx_bells, nic, used, link)
    return Estimate(traffic, used, link, received, sent, _worded(traffic, nic, rx_worded, tx_worded))


def _limit(nic: Nic) -> int:
    return nic.tx.doorbell_packets.number


def _rx_doorbells(burst: float | None, settings: Effective) -> float | None:
    """Tail writes a received packet. The driver returns descriptors when more than the threshold are free, at most once a burst."""
    return None if burst is None else 1 / max(burst, settings.rx_free)


def _inverse(burst: float | None, at_most: int) -> float | None:
    return None if burst is None else 1 / (min(burst, at_most) if at_most else burst)


def _worded(traffic: Traffic, nic: Nic, rx_bells: float | None, tx_bells: float | None) -> float | None:
    parts = [
        (traffic.rx_pps, nic.rx.doorbell.number, rx_bells),
        (traffic.tx_pps, nic.tx.doorbell.number, tx_bells),
    ]
    total = 0.0
    for pps, size, bells in parts:
        if pps == 0:
            continue
        if pps is None or bells is None:
            return None
        total += pps * size * bells
    return total


def _received(size: float | None, bells: float | None, nic: Nic, settings: Effective, link: Link) -> Cost | None:
    """Fetch a descriptor, write the packet, write the descriptor back, and a share of a tail write. Compressed write-backs share a write."""
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
    size: float | None, burst: float | None, bells: float | None, nic: Nic, settings: Effective, link: Link
) -> Cost | None:
    """A tail write, fetch a descriptor, read the packet, and a share of a status report."""
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


def _descriptors(header: int, size: float, unit: int, burst: float) -> float:
    """Bytes of descriptors a packet: those of a burst have a header together and are rounded up to whole units."""
    return ceil((header + size * burst) / unit) * unit / burst if header else ceil(size / unit) * unit


def _shared(move: Callable[[float], OnWire], size: float, together: int) -> OnWire:
    """Cost on the wire of one of the `together` items that one transfer moves."""
    whole = move(size * together)
    return OnWire(whole.up / together, whole.down / together)
