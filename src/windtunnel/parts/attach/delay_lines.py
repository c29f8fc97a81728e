"""experiments.jsonl: the steps of an experiment with delays, in the run directory of its observation."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from windtunnel.parts.attach.experiments import DelayLine, NotShownLine
from windtunnel.parts.attach.observed_windows import read_lines

FILE = "experiments.jsonl"
MOST_BYTES = 4 << 20
"""Of the file: experiments with 128 threads, the most that DPDK has by default, take 2 MiB."""
LINE: TypeAdapter[DelayLine | NotShownLine] = TypeAdapter(
    Annotated[DelayLine | NotShownLine, Field(discriminator="kind")]
)


def delay_lines_of(directory: Path) -> list[DelayLine | NotShownLine]:
    """The steps, and what showed nothing; none without an experiment. Raises UserError with file and line."""
    return read_lines(Path(directory) / FILE, LINE, MOST_BYTES)
