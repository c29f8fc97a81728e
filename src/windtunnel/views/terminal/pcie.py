"""Estimates as output: the table of the terminal, rows of the report, a document for `--json`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from windtunnel import format as fmt
from windtunnel.pcie.estimate import BITS, MB, Cost, Estimate
from windtunnel.pcie.link import Link, OnWire
from windtunnel.pcie.measured import Measured
from windtunnel.pcie.nic import Nic
from windtunnel.pcie.run_estimate import PortEstimate
from windtunnel.views.terminal.columns import Column, Fitting

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Row:
    """One queue, or the sum of a port with several. Rates are MB/s of payload and Gb/s on the wire, bytes are of a packet in and out
    again, shares of what the link can carry."""

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
    """Of what the port receives, or sends where it receives nothing, at these sizes and bursts."""

    @property
    def share(self) -> float | None:
        """Of the fuller direction."""
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
    port: str, queue: str, rx: float | None, tx: float | None, ceiling: float | None, **known: float | None
) -> Row:
    packets = rx or tx
    most = None if ceiling is None or packets is None else packets * ceiling / MB
    rates = {"rx_mpps": None if rx is None else rx / MB, "tx_mpps": None if tx is None else tx / MB}
    return Row(port, queue, **(dict.fromkeys(_VALUES) | rates | {"ceiling_mpps": most} | known))


_VALUES = tuple(name for name in Row.__dataclass_fields__ if name not in ("port", "queue"))


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def table(rows: Sequence[Row]) -> RenderableType:
    """MB/s are payload, Gb/s are on the wire; the burst is that of what is sent, by both averages."""

    def column(head: str, show: Callable[[Row], str], spare: int = 0, words: bool = False) -> Column:
        return Column(head, [show(row) for row in rows], spare=spare, words=words)

    both = [r for r in rows if r.tx_burst_worded is not None and abs(r.tx_burst_worded - (r.tx_burst or 0)) > 0.005]
    worded = [
        column("by packet", lambda r: fmt.number(r.tx_burst_worded, 2), spare=3),
        column("OutWr by packet", lambda r: fmt.number(r.outbound_write_worded, 3), spare=4),
    ]
    shown = [
        column("PCIe", lambda r: r.port, words=True),
        column("queue", lambda r: r.queue),
        column("rx Mpps", lambda r: fmt.number(r.rx_mpps, 3), spare=6),
        column("tx Mpps", lambda r: fmt.number(r.tx_mpps, 3), spare=7),
        column("burst", lambda r: fmt.number(r.tx_burst, 2), spare=2),
        *(worded[:1] if both else []),
        column("InRd MB/s", lambda r: fmt.number(r.inbound_read, 1)),
        column("InWr", lambda r: fmt.number(r.inbound_write, 1)),
        column("OutRd", lambda r: fmt.number(r.outbound_read, 0), spare=8),
        column("OutWr", lambda r: fmt.number(r.outbound_write, 3)),
        *(worded[1:] if both else []),
        column("B/packet", lambda r: fmt.number(r.payload_bytes, 1), spare=3),
        column("wire up", lambda r: fmt.number(r.up_bytes, 1), spare=5),
        column("down", lambda r: fmt.number(r.down_bytes, 1), spare=5),
        column("up Gb/s", lambda r: fmt.number(r.up_gbps, 1), spare=1),
        column("down Gb/s", lambda r: fmt.number(r.down_gbps, 1), spare=1),
        column("of link", lambda r: fmt.percent(r.share)),
        column("ceiling Mpps", lambda r: fmt.number(r.ceiling_mpps, 1)),
    ]
    return Fitting(shown)


def view(ports: Sequence[PortEstimate], measured: Measured | None) -> RenderableType:
    """The table, the NICs that it stands for, and what was measured."""
    rows = [row for port in ports for row in rows_of(port)]
    parts: list[RenderableType] = [table(rows)] if rows else []
    parts += [Text(words, style="dim") for words in labels(ports)]
    return Group(*parts, Text(f"PCIe by counters: {measured_words(measured)}", style="dim"))


def labels(ports: Sequence[PortEstimate]) -> list[str]:
    """The NIC and link that the values stand for, ports with the same ones together; why a port has no estimate, and which
    has more traffic than its link carries."""
    alike: dict[str, list[str]] = {}
    for port in ports:
        if port.queues:
            alike.setdefault(f"{port.label} ({link_words(port.link)})", []).append(port.port)
    said = [f"{', '.join(names)}: {words}" for words, names in alike.items()]
    said += [f"{port.port}: no estimate: {port.why_not}" for port in ports if port.why_not]
    return said + list(filter(None, map(_overfull, ports)))


def _overfull(port: PortEstimate) -> str | None:
    """A remark where the traffic is more than the link carries; None where it fits, or nobody knows."""
    used = port.utilisation
    if used is None or max(used) <= 1:
        return None
    return f"{port.port}: {fmt.percent(max(used))} of what the link carries: on it these rates cannot be reached, and the ceiling can"


def link_words(link: Link) -> str:
    return f"{link.words}: {link.usable * BITS / 1e9:.2f} of {link.raw * BITS / 1e9:.2f} Gb/s for transfers"


def measured_words(measured: Measured | None) -> str:
    if measured is None:
        return NOT_MEASURED
    parts = [
        f"{name} {NOT_MEASURED if value is None else f'{value / MB:,.1f} MB/s'}" for name, value in directions(measured)
    ]
    return f"{', '.join(parts)} ({measured.tool}, all devices)"


def nic_list(nics: Sequence[Nic]) -> RenderableType:
    """Every NIC with its main numbers, and how many are assumed."""

    def column(head: str, show: Callable[[Nic], str], words: bool = False) -> Column:
        return Column(head, [show(nic) for nic in nics], words=words)

    return Fitting(
        [
            column("nic", lambda n: n.name, words=True),
            column("stands for", lambda n: n.nic.title, words=True),
            column("link", lambda n: f"Gen{n.link.generation.number} x{n.link.lanes.number}"),
            column("rx B", lambda n: str(n.rx.descriptor.number)),
            column("written back", lambda n: str(n.rx.write_back.number)),
            column("rx free", lambda n: str(n.rx.free_threshold.number)),
            column("tx B", lambda n: str(n.tx.descriptor.number)),
            column("tx RS", lambda n: str(n.tx.rs_threshold.number)),
            column("assumed", lambda n: str(sum(k.value is None for _, k in n.entries()))),
        ]
    )


def nic_table(nic: Nic) -> RenderableType:
    """Number by number, each with its source or why it is assumed."""
    entries = nic.entries()
    return Fitting(
        [
            Column(nic.name, [path for path, _ in entries]),
            Column("", [str(known.number) for _, known in entries]),
            Column("source", [known.words for _, known in entries], words=True),
        ]
    )


def directions(measured: Measured) -> list[tuple[str, float | None]]:
    names = ("inbound_read", "inbound_write", "outbound_read", "outbound_write")
    return [(name.replace("_", " "), getattr(measured, name)) for name in names]


def document(ports: Sequence[PortEstimate], measured: Measured | None) -> dict[str, Any]:
    """For machines: rates in the units of `Row`."""
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
