"""figure.json: the record of a figure, written before its first trial and again at its end.

History of the record's version:
1  the four figures of PvCC, in complete blocks
"""

from typing import Any, Final

from pydantic import AwareDatetime, Field

from pvcc.claims import Verdict
from windtunnel.api.runs import order
from windtunnel.api.settings import Part

FIGURE_VERSION: Final = 1
NAME, TRIALS, TABLE, REPORT = "figure.json", "trials.jsonl", "trials.parquet", "report.html"


class FigureRecord(Part):
    version: int = FIGURE_VERSION
    figure: str
    title: str
    quick: bool
    seed: int = Field(description="draws the order of the trials, and their arrivals")
    first_block: int = Field(1, description="number of the first block that was run")
    blocks: int = Field(description="how many were run")
    order: list[list[str]] = Field(description="labels of the arms, block by block")
    tenant_cpu: int
    client_cpu: int
    setting: dict[str, str] = Field(description="servers, slicer: the setting of the measurement")
    versions: dict[str, str]
    host: dict[str, Any]
    started: AwareDatetime
    ended: AwareDatetime | None = Field(description="null: it has not ended, or was killed")
    interrupted: bool = False
    failed: list[str] = Field(default_factory=list, description="trials that failed, and why")
    verdicts: list[Verdict] = Field(default_factory=list)


def drawn(labels: list[str], blocks: int, seed: int) -> list[list[str]]:
    """Complete blocks: every arm once, in an order of its own."""
    return [[labels[i] for i in block] for block in order(list(range(len(labels))), blocks, seed)]
