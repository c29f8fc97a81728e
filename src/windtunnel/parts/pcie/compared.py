"""Estimated and measured PCIe traffic at several packet rates: of the runs of a study with whose counters a text was saved, and of rates that are
named beside a sweep."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.parts.pcie import traffic_options
from windtunnel.parts.pcie.estimate import MB, Cost
from windtunnel.parts.pcie.measured import FILE, Measured, measured_with_run, read_measured
from windtunnel.parts.pcie.port_estimate import PortEstimate
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.parts.pcie.sweep import AFTER, BEFORE, HIGHEST, Sweep
from windtunnel.runs import load

DIRECTIONS = {
    "inbound_read": "Inbound Read",
    "inbound_write": "Inbound Write",
    "outbound_read": "Outbound Read",
    "outbound_write": "Outbound Write",
}


@dataclass(frozen=True)
class Compared:
    """One packet rate. `estimated` and `measured`: direction -> bytes a second; a direction that is not known is left out."""

    pps: float
    estimated: dict[str, float]
    measured: dict[str, float]
    tool: str
    would_be: bool = False
    """Whether no NIC ran, so that the estimate is what it would be on one."""


def of_runs(directories: Iterable[Path]) -> list[Compared]:
    """The runs in whose directories counters were saved, by rate. Raises UserError as `read_measured`."""
    with_counters = (directory for directory in directories if os.path.lexists(directory / FILE))
    return sorted((one for path in with_counters for one in _of_run(path)), key=lambda one: one.pps)


def _of_run(path: Path) -> Iterator[Compared]:
    """Counters cover all devices, so that the ports of a run are taken together; nothing of a run in which one has no estimate."""
    measured, ports = measured_with_run(path), ports_of(load(path))
    rates = [port.rate for port in ports if port.rate is not None]
    packets = _packets(ports)
    if measured and packets and len(rates) == len(ports):
        yield Compared(
            packets, _known(sum(rates, Cost())), _known(measured), measured.tool, any(port.would_be for port in ports)
        )


def _packets(ports: Sequence[PortEstimate]) -> float | None:
    """Packets a second at the server's port, or at the only one: received, or sent if those are more."""
    port = next((port for port in ports if port.port == "server"), ports[0] if ports else None)
    flows = [queue.estimate.traffic for queue in port.queues] if port else []
    received, sent = sum(flow.rx_pps or 0 for flow in flows), sum(flow.tx_pps or 0 for flow in flows)
    return max(received, sent) or None


def _known(values: Cost | Measured) -> dict[str, float]:
    return {name: value for name in DIRECTIONS if (value := getattr(values, name)) is not None}


def named(texts: Sequence[str]) -> list[tuple[float, Measured]]:
    """Rates with their counters, as in 10M=pcm-10.csv, by rate. Raises UserError for what is none, and as `read_measured`."""
    pairs: dict[float, Measured] = {}
    for text in texts:
        rate, equals, file = text.partition("=")
        if not equals or not file:
            raise UserError(f'--measured-at "{text}": not RATE=FILE', remedy="as in --measured-at 10M=pcm-10.csv")
        pps = traffic_options.rate(rate, "--measured-at")
        if pps > HIGHEST:
            raise UserError(
                f"--measured-at {text}: the sweep ends at {HIGHEST / MB:g} Mpps", remedy="a rate that is in the sweep"
            )
        if pps in pairs:
            raise UserError(f"--measured-at {text}: this rate is there twice", remedy="one file for each rate")
        pairs[pps] = read_measured(Path(file))
    return sorted(pairs.items(), key=lambda pair: pair[0])


def of_sweep(sweep: Sweep, pairs: Sequence[tuple[float, Measured]]) -> list[Compared]:
    """Rates beside a sweep. What the CPU writes depends on bursts, which are not known between the recipe's two rates."""
    compared = []
    for pps, measured in pairs:
        rate = sweep.at(pps).estimate.rate
        estimated = _known(rate) if rate else {}
        if BEFORE < pps < AFTER:
            estimated.pop("outbound_write", None)
        compared.append(Compared(pps, estimated, _known(measured), measured.tool))
    return compared
