"""What is shown of a run's PCIe traffic."""

from collections.abc import Iterator

from windtunnel.parts.pcie.document import pcie_section
from windtunnel.parts.pcie.measured import measured_with_run
from windtunnel.parts.pcie.port_estimate import PortEstimate
from windtunnel.parts.pcie.run_estimate import shown_ports, tightest
from windtunnel.results.charts.limit_line import Limit
from windtunnel.results.document import Section
from windtunnel.runs.reader import Run


def machine_sections(run: Run) -> Iterator[Section]:
    yield from pcie_section(shown_ports(run), measured_with_run(run.path))


def limits(run: Run) -> Iterator[Limit]:
    """The port whose link would be full first."""
    port = tightest(shown_ports(run))
    if port is not None and port.ceiling:
        yield limit_of(port, port.ceiling)


def limit_of(port: PortEstimate, ceiling: float) -> Limit:
    return Limit(port.port, ceiling, f"PCIe ceiling of the {port.port} ({port.label})")
