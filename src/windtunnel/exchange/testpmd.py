"""testpmd's forward statistics, as `show fwd stats all`, `stop` and `--stats-period` print them (DPDK 22.11).

Counters add up from `start` on, so of several reports in one text the last one counts. Bursts come as percentages without
decimals: they stay percentages, because no count could be made of them. testpmd prints no rates with these: throughput is not known.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from windtunnel.exchange.source import Fault, Faults
from windtunnel.runs.record import ForeignValue
from windtunnel.runs.rows import PortRow, StageRow, only

_PORT = re.compile(r"\s*-{5,} Forward statistics for port ([0-9]+)\s+-{5,}\s*")
_STREAM = re.compile(
    r"\s*-{5,} Forward Stats for RX Port=\s*([0-9]+)/Queue=\s*([0-9]+) -> TX Port=\s*([0-9]+)/Queue=\s*([0-9]+) -{5,}\s*"
)
_ALL = re.compile(r"\s*\+{5,} Accumulated forward statistics for all ports\s*\+{5,}\s*")
_END = re.compile(r"\s*(-{20,}|\+{20,})\s*")
_COUNTER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9 -]{0,40}?): +(?P<value>[0-9]{1,20})\s*")
_WRAPPED = 1 << 63
"""testpmd subtracts two readings of 64 bits: a count as large as this is of a smaller one after a larger one."""
_BURSTS = re.compile(r"\s*(RX|TX)-bursts : ([0-9]{1,20}) \[(.*)\]\s*")
_SHARE = re.compile(r"([0-9]{1,3})% of (?:([0-9]{1,5}) pkts|others?)")
_CYCLES = re.compile(
    r"\s*CPU cycles/packet=([0-9]{1,20}(?:\.[0-9]{1,9})?) \(total cycles=([0-9]{1,20}) / total ([\w -]*) packets=([0-9]{1,20})\) at ([0-9]{1,20}) MHz Clock\s*"
)
_PROMPT = "testpmd> "
_NEEDED = ("RX-packets", "RX-dropped", "RX-total", "TX-packets", "TX-dropped", "TX-total")


@dataclass(frozen=True)
class Bursts:
    """The lines that `--record-burst-stats` adds to a block: calls, including those without a packet, and the shares of the commonest sizes.
    testpmd truncates every share but the last, which is the rest to 100."""

    place: str
    way: str
    """RX or TX."""
    calls: int
    shares: list[tuple[int | None, int]]
    """Packets per burst (None: all other sizes together) and per cent of the calls."""

    def values(self) -> Iterator[ForeignValue]:
        yield ForeignValue(of=self.place, name=f"{self.way}-bursts", value=self.calls, unit="calls")
        for size, share in self.shares:
            what = "other sizes" if size is None else f"{size} packets"
            yield ForeignValue(of=self.place, name=f"{self.way}-bursts of {what}", value=share, unit="%")


@dataclass
class _Block:
    """The lines below one heading: counters by name, and bursts."""

    place: str
    line: int
    counters: dict[str, int] = field(default_factory=dict)
    bursts: list["Bursts"] = field(default_factory=list)


@dataclass
class _Report:
    ports: dict[str, _Block] = field(default_factory=dict)
    streams: list[_Block] = field(default_factory=list)
    total: _Block | None = None
    cycles: list[ForeignValue] = field(default_factory=list)


@dataclass(frozen=True)
class Parsed:
    """The content of a text."""

    mode: str | None
    stages: list[StageRow]
    ports: list[PortRow]
    values: list[ForeignValue]
    reports: int
    bursts: list[tuple[Bursts, int]]
    """The bursts of each stream if the text has them, else of each port, and the packets of these calls."""


def parse(text: str) -> tuple[Parsed | None, list[Fault]]:
    """The last report of a text, and the faults of the text."""
    reports, faults = _reports(text)
    if faults:
        return None, faults
    if not reports:
        heading = "---------------------- Forward statistics for port 0  ----------------------"
        return None, [
            Fault(0, "no forward statistics of testpmd", f"what `show fwd stats all` prints, as in {heading}")
        ]
    faults = Faults()
    faults.extend(fault for report in reports for fault in _check(report))
    if faults:
        return None, faults
    last = reports[-1]
    modes = re.findall(r"^(\w+) packet forwarding - ports=", text, re.MULTILINE)
    stages = [row for number, block in last.ports.items() for row in _stage_rows(number, block)]
    ports = [
        only(
            PortRow,
            endpoint=f"port {number}",
            rx_packets=block.counters["RX-packets"],
            tx_packets=block.counters["TX-packets"],
        )
        for number, block in last.ports.items()
    ]
    return Parsed(modes[-1] if modes else None, stages, ports, _values(last), len(reports), _bursts(last)), []


def _reports(text: str) -> tuple[list[_Report], list[Fault]]:
    """A report begins with its first heading after the cycles or the sum of the one before it."""
    reports: list[_Report] = []
    faults = Faults()
    block: _Block | None = None
    for number, line in _untorn(text):
        if heading := _heading(line, number):
            fresh = not reports or reports[-1].total is not None
            if fresh:
                reports.append(_Report())
            if block is not None and not block.place.startswith("stream"):
                faults.append(_cut_off(block, number))
            block = heading
            faults.extend(_put(reports[-1], block))
        elif cycles := _CYCLES.fullmatch(line):
            if reports:
                reports[-1].cycles = _cycles(cycles)
        elif line.lstrip().startswith("CPU cycles/packet="):
            faults.append(
                Fault(number, f'"{line.strip()[:60]}" is not a line of cycles', "unchanged output of testpmd")
            )
        elif block is None:
            continue
        elif _END.fullmatch(line) or (block.place.startswith("stream") and not line.strip()):
            block = None
        else:
            faults.extend(_read(block, line, number))
    if block is not None and not block.place.startswith("stream"):
        faults.append(_cut_off(block, number))
    return reports, faults


def _cut_off(block: _Block, line: int) -> Fault:
    return Fault(
        line, f"the statistics of {block.place} that begin in line {block.line} are truncated", "the whole text"
    )


def _untorn(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers. testpmd's prompt and a typed command may interrupt a line of another thread: they are removed, and the
    halves are joined."""
    fragment = ""
    for number, line in enumerate(text.splitlines(), start=1):
        before, prompt, behind = line.partition(_PROMPT)
        if prompt and before.strip():
            fragment += before
            continue
        yield number, fragment + (behind if prompt else line)
        fragment = ""
    if fragment:
        yield number, fragment


def _heading(line: str, number: int) -> _Block | None:
    if port := _PORT.fullmatch(line):
        return _Block(f"port {port[1]}", number)
    if stream := _STREAM.fullmatch(line):
        rx, rxq, tx, txq = stream.groups()
        return _Block(f"stream {rx}:{rxq} -> {tx}:{txq}", number)
    return _Block("all ports", number) if _ALL.fullmatch(line) else None


def _put(report: _Report, block: _Block) -> list[Fault]:
    kind, _, number = block.place.partition(" ")
    if kind == "stream":
        report.streams.append(block)
    elif kind == "all":
        report.total = block
    elif number in report.ports:
        return [Fault(block.line, f"{block.place} is given twice in one report", "one block for each port")]
    else:
        report.ports[number] = block
    return []


def _read(block: _Block, line: str, number: int) -> list[Fault]:
    """Adds the counters or bursts of one line to the block."""
    if bursts := _BURSTS.fullmatch(line):
        direction, calls, shares = bursts.groups()
        texts = shares.split(" + ") if shares else []
        matches = [match for text in texts if (match := _SHARE.fullmatch(text))]
        if len(matches) < len(texts):
            return [Fault(number, f"{direction}-bursts: [{shares}]", "shares, as in [0% of 0 pkts + 100% of 32 pkts]")]
        sizes = [(int(share[2]) if share[2] else None, int(share[1])) for share in matches]
        if sizes and (sum(share for _, share in sizes) != 100 or len({size for size, _ in sizes}) < len(sizes)):
            what = f"{direction}-bursts: [{shares}]: not shares of different sizes that add up to 100%"
            return [Fault(number, what, "unchanged output of testpmd")]
        block.bursts.append(Bursts(block.place, direction, int(calls), sizes))
        return []
    counters = list(_COUNTER.finditer(line))
    if not counters or "".join(match[0] for match in counters) != line.lstrip():
        return [
            Fault(
                number,
                f'"{line.strip()[:60]}" is not a line of the statistics of {block.place}',
                "unchanged output of testpmd",
            )
        ]
    counted = {match["name"]: int(match["value"]) for match in counters}
    block.counters |= counted
    return [
        Fault(
            number,
            f"{name} of {block.place} is {count}: the port's counters were reset while it forwarded",
            "a report of a time without `clear port stats`",
        )
        for name, count in counted.items()
        if count >= _WRAPPED
    ]


def _check(report: _Report) -> list[Fault]:
    """Checks that nothing is missing and that the sums are right: a torn number would show here."""
    blocks = [*report.ports.values(), *([report.total] if report.total else [])]
    faults = Faults()
    for block in blocks:
        missing = [name for name in _NEEDED if name not in block.counters]
        if missing:
            faults.append(Fault(block.line, f"{block.place} lacks {', '.join(missing)}", "the whole block"))
        for way in ("RX", "TX") if not missing else ():
            packets, dropped, total = (block.counters[f"{way}-{name}"] for name in ("packets", "dropped", "total"))
            if packets + dropped != total:
                what = f"{block.place}: {way}-total is {total}, but {packets} packets and {dropped} dropped are {packets + dropped}"
                faults.append(Fault(block.line, what, "unchanged output of testpmd"))
    if not report.ports:
        line = min(block.line for block in [*report.streams, *blocks])
        faults.append(Fault(line, "a report without the statistics of a port", "the whole report"))
    elif report.total is None:
        what = "the report ends before the sums of all ports, so ports may be missing"
        faults.append(Fault(blocks[-1].line, what, "the whole report"))
    elif not faults:
        faults.extend(_check_sums(report.total, report.ports.values()))
    return faults


def _check_sums(total: _Block, ports: Collection[_Block]) -> Iterator[Fault]:
    for name in _NEEDED:
        summed = sum(block.counters[name] for block in ports)
        if total.counters[name] != summed:
            what = f"{name} of all ports is {total.counters[name]}, but that of the ports in the report is {summed}"
            yield Fault(total.line, what, "unchanged output of testpmd")


def _stage_rows(number: str, block: _Block) -> list[StageRow]:
    """The rows of nic_rx and nic_tx of a port: packets moved and dropped."""
    return [
        only(
            StageRow,
            endpoint=f"port {number}",
            stage=f"nic_{way.lower()}",
            objects=block.counters[f"{way}-packets"],
            drops={f"{way}-dropped": n} if (n := block.counters[f"{way}-dropped"]) else {},
        )
        for way in ("RX", "TX")
    ]


def _values(report: _Report) -> list[ForeignValue]:
    values = list(report.cycles)
    for block in report.ports.values():
        more = {name: n for name, n in block.counters.items() if name not in _NEEDED}
        values += [ForeignValue(of=block.place, name=name, value=n, unit="packets") for name, n in more.items()]
        values += _burst_values(block)
    for block in report.streams:
        values += [
            ForeignValue(of=block.place, name=name, value=n, unit="packets") for name, n in block.counters.items()
        ]
        values += _burst_values(block)
    return values


def _burst_values(block: _Block) -> list[ForeignValue]:
    return [value for bursts in block.bursts for value in bursts.values()]


def _bursts(report: _Report) -> list[tuple[Bursts, int]]:
    blocks = [block for block in report.streams if block.bursts] or list(report.ports.values())
    return [(bursts, block.counters.get(f"{bursts.way}-packets", 0)) for block in blocks for bursts in block.bursts]


def _cycles(match: re.Match[str]) -> list[ForeignValue]:
    rate, total, what, packets, mhz = match.groups()
    return [
        ForeignValue(of="testpmd", name="CPU cycles/packet", value=float(rate), unit="cycles"),
        ForeignValue(of="testpmd", name="total cycles", value=int(total), unit="cycles"),
        ForeignValue(of="testpmd", name=f"total {what} packets", value=int(packets), unit="packets"),
        ForeignValue(of="testpmd", name="clock", value=int(mhz), unit="MHz"),
    ]
