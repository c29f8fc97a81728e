"""Estimates as rows of tables, and as the document that `--json` prints."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from windtunnel.parts.pcie.estimate import BITS, MB, Cost, Estimate
from windtunnel.parts.pcie.link import OnWire
from windtunnel.parts.pcie.measured import Measured
from windtunnel.parts.pcie.port_estimate import PortEstimate


@dataclass(frozen=True)
class Row:
    """One queue, or the sum of a port with several. Rates are MB/s of payload and Gb/s on the wire, bytes are those of a packet in and
    out again, shares are those of the link's capacity."""

    port: str
    queue: str
    rx_mpps: float | None
    tx_mpps: float | None
    rx_burst: float | None
    tx_burst: float | None
    tx_burst_worded: float | None
    inbound_read: float | None
    inbound_write: float | None
    outbound_read: float | None
    outbound_write: float | None
    outbound_write_worded: float | None
    payload_bytes: float | None
    up_bytes: float | None
    down_bytes: float | None
    up_gbps: float | None
    down_gbps: float | None
    up_share: float | None
    down_share: float | None
    ceiling_mpps: float | None
    """Packets that the port can receive, or send if it receives nothing, at these sizes and bursts."""

    @property
    def share(self) -> float | None:
        """The share of the fuller direction."""
        return None if self.up_share is None or self.down_share is None else max(self.up_share, self.down_share)


def rows_of(port: PortEstimate) -> list[Row]:
    rows = [_queue_row(port.port, queue.number, queue.estimate) for queue in port.queues]
    if len(rows) > 1:
        total = _rates(port.rate, port.utilisation, port.worded)
        flows = [queue.estimate.traffic for queue in port.queues]
        rx, tx = (_sum(getattr(flow, name) for flow in flows) for name in ("rx_pps", "tx_pps"))
        rows.append(_row(port.port, "all", rx, tx, port.ceiling, **total))
    return rows


def _queue_row(port: str, number: int | None, e: Estimate) -> Row:
    t, packet = e.traffic, e.packet
    bytes_ = {}
    if packet:
        payload = packet.inbound_read + packet.inbound_write + packet.outbound_read + packet.outbound_write
        bytes_ = {"payload_bytes": payload, "up_bytes": packet.up, "down_bytes": packet.down}
    bursts = {
        "rx_burst": t.rx_batches.exact,
        "tx_burst": t.tx_batches.exact,
        "tx_burst_worded": t.tx_batches.worded,
    }
    rates = _rates(e.rate, e.utilisation, e.worded)
    row = _row(
        port, "all" if number is None else str(number), t.rx_pps, t.tx_pps, e.ceiling, **bursts, **bytes_, **rates
    )
    if row.ceiling_mpps is None and e.rate is None and e.ceiling_pps:
        return Row(**(asdict(row) | {"ceiling_mpps": e.ceiling_pps / MB}))
    return row


def _rates(rate: Cost | None, share: OnWire | None, worded: float | None) -> dict[str, float | None]:
    if rate is None or share is None:
        return {}
    payload = {
        name: getattr(rate, name) / MB for name in ("inbound_read", "inbound_write", "outbound_read", "outbound_write")
    }
    wire = {"up_gbps": rate.up * BITS / 1e9, "down_gbps": rate.down * BITS / 1e9}
    shares = {"up_share": share.up, "down_share": share.down}
    return payload | wire | shares | {"outbound_write_worded": None if worded is None else worded / MB}


def _row(
    port: str, queue: str, rx: float | None, tx: float | None, ceiling: float | None, **values: float | None
) -> Row:
    packets = rx or tx
    ceiling_mpps = None if ceiling is None or packets is None else packets * ceiling / MB
    rates = {"rx_mpps": None if rx is None else rx / MB, "tx_mpps": None if tx is None else tx / MB}
    return Row(port, queue, **(dict.fromkeys(_VALUES) | rates | {"ceiling_mpps": ceiling_mpps} | values))


_VALUES = tuple(name for name in Row.__dataclass_fields__ if name not in ("port", "queue"))


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def json_document(ports: Sequence[PortEstimate], measured: Measured | None) -> dict[str, Any]:
    """The JSON document: rates in the units of `Row`."""
    return {
        "ports": [
            {
                "port": port.port,
                "nic": port.nic,
                "would_be": port.would_be,
                "link": asdict(port.link)
                | {"raw_gbps": port.link.raw * BITS / 1e9, "usable_gbps": port.link.usable * BITS / 1e9},
                "why_not": port.why_not,
                "queues": [asdict(row) for row in rows_of(port)],
                "settings": asdict(port.queues[0].estimate.settings) if port.queues else None,
            }
            for port in ports
        ],
        "measured": None if measured is None else asdict(measured),
    }
