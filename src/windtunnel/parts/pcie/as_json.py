"""A run's PCIe traffic for machines."""

from typing import Any

from windtunnel.parts.pcie.measured import measured_with_run
from windtunnel.parts.pcie.port_rows import json_document
from windtunnel.parts.pcie.run_estimate import ports_of
from windtunnel.runs.reader import Run


def fields(run: Run) -> dict[str, Any]:
    """Null if no window was measured, or by another tool."""
    known = run.has_metrics and run.record.engines
    return {"pcie": json_document(ports_of(run), measured_with_run(run.path)) if known else None}
