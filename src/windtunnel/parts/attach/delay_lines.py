"""experiments.jsonl: the steps of an experiment with delays, in the run directory of its observation."""

from pathlib import Path

from windtunnel.parts.attach.experiments import DelayLine
from windtunnel.parts.attach.observed_windows import read_lines

FILE = "experiments.jsonl"


def delay_lines_of(directory: Path) -> list[DelayLine]:
    """The steps; none without an experiment. Raises UserError with file and line."""
    return read_lines(Path(directory) / FILE, DelayLine)
