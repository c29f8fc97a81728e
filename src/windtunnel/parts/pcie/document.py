"""PCIe estimates as documents: of ports, of a sweep over the packet rate, and the NICs that they know."""

from collections.abc import Iterator, Sequence

from windtunnel import format as fmt
from windtunnel.parts.pcie import charts
from windtunnel.parts.pcie.compared import DIRECTIONS, Compared
from windtunnel.parts.pcie.estimate import BITS, MB
from windtunnel.parts.pcie.link import Link
from windtunnel.parts.pcie.measured import Measured
from windtunnel.parts.pcie.nic import Nic
from windtunnel.parts.pcie.port_estimate import PortEstimate
from windtunnel.parts.pcie.port_rows import Row, rows_of
from windtunnel.parts.pcie.sweep import AFTER, BEFORE, Sweep
from windtunnel.results.document import Block, Chart, Document, Fold, Section, Sentence, Table, columns_of, groups_of

NOT_MEASURED = "not measured"
_NOT_MEASURED = (
    "Nothing here was measured: the values follow from the equations on the page “PCIe equations” of the documentation. The bursts are those of the "
    "VTune recipe “PCIe Traffic in DPDK Apps”."
)
_MEASURED = (
    "The dots of the first chart were measured. All else follows from the equations on the page “PCIe equations” of the documentation, with the bursts "
    "of the VTune recipe “PCIe Traffic in DPDK Apps”."
)


def estimate_document(ports: Sequence[PortEstimate], measured: Measured | None) -> Document:
    """Of traffic that was named, of a run, or of a log of testpmd."""
    return Document(kind="PCIe estimate", title="PCIe traffic: an estimate", blocks=list(pcie_section(ports, measured)))


def pcie_section(ports: Sequence[PortEstimate], measured: Measured | None) -> Iterator[Section]:
    """The table, the NICs that it stands for, and what was measured."""
    if not ports:
        return
    rows = [row for port in ports for row in rows_of(port)]
    blocks: list[Block] = [_table(rows)] if rows else []
    blocks += [Sentence(words, tone="quiet") for words in _labels(ports)]
    blocks.append(Sentence(f"PCIe by counters: {_measured_words(measured)}", tone="quiet"))
    if measured and measured.ports:
        blocks.append(_root_ports(measured, ports))
    yield Section(
        "PCIe traffic: an estimate",
        blocks,
        about="The traffic of these packets and bursts on a PCIe link, computed and not measured; the page “PCIe equations” of the documentation "
        "has the equations and sources. MB/s are payload, wire and Gb/s contain headers; bytes are of a packet in and out again. Inbound: the "
        "NIC’s DMA. Outbound: the CPU’s writes to tail registers, by the mean burst, and by the burst that a packet finds itself in.",
    )


def _table(rows: Sequence[Row]) -> Table:
    """MB/s are payload, Gb/s are on the wire; the burst is that of what is sent, by both averages."""
    column = columns_of(rows)
    differ = any(r.tx_burst_worded is not None and abs(r.tx_burst_worded - (r.tx_burst or 0)) > 0.005 for r in rows)
    by_packet = column("by packet", lambda r: fmt.number(r.tx_burst_worded, 2), spare=3)
    write_by_packet = column("OutWr by packet", lambda r: fmt.number(r.outbound_write_worded, 3), spare=4)
    return Table(
        [
            column("PCIe", lambda r: r.port, words=True),
            column("queue", lambda r: r.queue),
            column("rx Mpps", lambda r: fmt.number(r.rx_mpps, 3), spare=6),
            column("tx Mpps", lambda r: fmt.number(r.tx_mpps, 3), spare=7),
            column("burst", lambda r: fmt.number(r.tx_burst, 2), spare=2),
            *([by_packet] if differ else []),
            column("InRd MB/s", lambda r: fmt.number(r.inbound_read, 1)),
            column("InWr", lambda r: fmt.number(r.inbound_write, 1)),
            column("OutRd", lambda r: fmt.number(r.outbound_read, 0), spare=8),
            column("OutWr", lambda r: fmt.number(r.outbound_write, 3)),
            *([write_by_packet] if differ else []),
            column("B/packet", lambda r: fmt.number(r.payload_bytes, 1), spare=3),
            column("wire up", lambda r: fmt.number(r.up_bytes, 1), spare=5),
            column("down", lambda r: fmt.number(r.down_bytes, 1), spare=5),
            column("up Gb/s", lambda r: fmt.number(r.up_gbps, 2), spare=1),
            column("down Gb/s", lambda r: fmt.number(r.down_gbps, 2), spare=1),
            column("link up", lambda r: fmt.percent(r.up_share), spare=9),
            column("link down", lambda r: fmt.percent(r.down_share), spare=9),
            column("of link", lambda r: fmt.percent(r.share)),
            column("ceiling Mpps", lambda r: fmt.number(r.ceiling_mpps, 1)),
        ],
        groups_of([row.port for row in rows]),
    )


def _root_ports(measured: Measured, ports: Sequence[PortEstimate]) -> Table:
    """What each root port carried, and whose NIC is below it."""
    column = columns_of(measured.ports)
    return Table(
        [
            column("root port, by counters", lambda r: r.name, words=True),
            column(
                "NIC of",
                lambda r: ", ".join(port.port for port in ports if r.is_above(port.upstream)) or fmt.DASH,
                words=True,
            ),
            *(
                column(f"{words} MB/s", lambda r, name=name: _mb(getattr(r, name)))
                for name, words in DIRECTIONS.items()
            ),
        ]
    )


def compared_section(compared: Sequence[Compared], about: str, sweep: Sweep | None = None) -> Iterator[Section]:
    """Estimated beside measured traffic over the packet rate, as a chart and as a table."""
    if not compared:
        return
    tools = ", ".join(dict.fromkeys(one.tool for one in compared))
    caption = f"Measured by {tools}, of all devices below the root ports; what else they move is in it. {about}"
    if any(one.would_be for one in compared):
        caption += " No NIC ran on some ports: their estimate is what it would be on one."
    column = columns_of(compared)
    columns = [column("Mpps", lambda one: fmt.number(one.pps / MB, 3))]
    for name, words in DIRECTIONS.items():
        if any(name in one.measured for one in compared):
            columns += [
                column(f"{words}: estimated", lambda one, name=name: _mb(one.estimated.get(name))),
                column("measured", lambda one, name=name: _mb(one.measured.get(name))),
                column("ratio", lambda one, name=name: _ratio(one.measured.get(name), one.estimated.get(name))),
            ]
    yield Section(
        "PCIe traffic over the packet rate: estimated and measured",
        [Chart(charts.beside(compared, sweep), about=caption), Table(columns)],
        about="MB/s of payload. Ratio: measured over estimated.",
        terminal="titled",
    )


def _mb(bytes_: float | None) -> str:
    return fmt.number(None if bytes_ is None else bytes_ / MB, 2)


def _ratio(measured: float | None, estimated: float | None) -> str:
    return fmt.number(measured / estimated if measured is not None and estimated else None, 2)


def sweep_document(sweep: Sweep, compared: Sequence[Compared] = ()) -> Document:
    """The VTune recipe's two charts, its histograms, and their values; and what was measured at some rates."""
    before, _kept, after, _ = sweep.table
    rows = [row for port in sweep.ports for row in rows_of(port)]
    return Document(
        kind="PCIe estimate",
        title="PCIe traffic over the packet rate",
        question=f"What would a PCIe link carry of packets of {sweep.size} bytes that are received and sent again?",
        how=[sweep.nic.nic.title, link_words(sweep.link)],
        emulated=["estimate"],
        notes=[_MEASURED if compared else _NOT_MEASURED],
        blocks=[
            *compared_section(compared, "Lines: the sweep, with the bursts of the recipe.", sweep),
            Section(
                "Inbound: what the NIC reads and writes",
                [Chart(charts.inbound(sweep))],
                about="Payload by DMA: descriptors and packets. It grows with the packet rate alone.",
            ),
            Section(
                "Outbound Write: the tail registers",
                [
                    Chart(charts.outbound(sweep)),
                    Chart(
                        charts.histograms(before, after),
                        about="The bursts at both rates. Calls without a packet ring no doorbell and are not shown. The recipe does not say how many "
                        f"packets each peak had at {AFTER / MB:.0f} Mpps: as many, here.",
                    ),
                ],
                about=_fracture(sweep),
            ),
            Section(
                "On the wire",
                [Chart(charts.wire(sweep))],
                about="Headers included, against what the link has left for transfers.",
            ),
            Section(
                "Values",
                [_table(rows), Fold("The NIC, number by number", [_numbers(sweep.nic)])],
                about="Outbound Read is zero: no driver reads a register of the NIC.",
            ),
        ],
    )


def _fracture(sweep: Sweep) -> str:
    """What happens to the doorbells between the recipe's two rates."""
    before, kept, after = (row for port in sweep.ports[:3] for row in rows_of(port))
    first, second, burst = fmt.number(before.outbound_write, 3), BEFORE / MB, fmt.number(after.tx_burst, 2)
    then, held = fmt.number(after.outbound_write, 3), fmt.number(kept.outbound_write, 3)
    if (after.outbound_write or 0) < (kept.outbound_write or 0):
        change = f"falls from {held} to {then} MB/s though more packets pass. That is the fracture."
    else:
        change = (
            f"stays at {then} MB/s: this NIC rings as often for a burst of 8 as for two of 4, there is no fracture."
        )
    return (
        f"The CPU writes a tail register after a burst: larger bursts, fewer writes. At {second:.0f} Mpps every burst has 4 packets: {first} MB/s. At "
        f"{AFTER / MB:.0f} Mpps the core keeps up only with some bursts of 8: the histogram has a new peak, the mean burst is {burst} where it was 4, "
        f"and Outbound Write {change} By the burst that a packet finds itself in, {fmt.number(after.tx_burst_worded, 2)}, it would be "
        f"{fmt.number(after.outbound_write_worded, 3)} MB/s: the recipe words its average so, but doorbells are counted by the mean."
    )


def _labels(ports: Sequence[PortEstimate]) -> list[str]:
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


def _measured_words(measured: Measured | None) -> str:
    if measured is None:
        return NOT_MEASURED
    parts = [
        f"{name.replace('_', ' ')} {NOT_MEASURED if value is None else f'{value / MB:,.1f} MB/s'}"
        for name in DIRECTIONS
        for value in [getattr(measured, name)]
    ]
    return f"{', '.join(parts)} ({measured.tool}, all devices)"


def nics_document(nics: Sequence[Nic]) -> Document:
    """Every NIC with its main numbers, and how many are assumed."""
    column = columns_of(nics)
    table = Table(
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
    return Document(kind="NICs", title="NICs that estimates know", blocks=[table])


def nic_document(nic: Nic) -> Document:
    """Number by number, each with its source or why it is assumed."""
    return Document(kind="NIC", title=nic.nic.title, blocks=[_numbers(nic)])


def _numbers(nic: Nic) -> Table:
    column = columns_of(nic.entries())
    return Table(
        [
            column(nic.name, lambda e: e[0], words=True),
            column("", lambda e: str(e[1].number)),
            column("source", lambda e: e[1].words, words=True),
        ]
    )
