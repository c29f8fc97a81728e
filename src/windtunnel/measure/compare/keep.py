"""What a comparison leaves in its directory: comparison.json, and report.html from it."""

from pathlib import Path

from windtunnel.measure.compare.model import Comparison
from windtunnel.runs.files import replace

NAME = "comparison.json"


def keep(comparison: Comparison, directory: Path) -> Path:
    """Writes comparison.json whole. Raises UserError where it cannot be written."""
    path = directory / NAME
    replace(path, comparison.model_dump_json(indent=1) + "\n")
    return path
