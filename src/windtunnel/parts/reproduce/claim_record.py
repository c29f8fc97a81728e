"""What is kept of a claim that was decided, and what `windtunnel reproduce` prints as JSON.

History of the versions:
1  verdict, findings
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.parts.reproduce import place_seals
from windtunnel.runs.files import replace
from windtunnel.text_file import MOST_RECORD_BYTES, read_regular

CLAIM_VERSION: Final = 1
NAME = "claim.json"
VERDICT_SEAL = ".claim.json.seal"
Outcome = Literal["holds", "does not hold", "not shown", "modelled"]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Finding(Part):
    """One quantity, or one of its cases."""

    what: str
    at_least: float | None
    at_most: float | None
    values: int = Field(description="repeats")
    median: float | None = Field(description="null: nothing was measured")
    low: float | None = Field(description="of the 99% interval, or the least of exact values; null: too few repeats")
    high: float | None
    outcome: Outcome


class Point(Part):
    x: float
    y: float = Field(description="median of the repeats")
    low: float = Field(description="the least of them")
    high: float


class DrawnCurve(Part):
    name: str
    published: bool
    points: list[Point]


class DrawnPlot(Part):
    """The claim's plot."""

    x: str
    y: str
    logarithmic: list[Literal["x", "y"]]
    curves: list[DrawnCurve]


class ClaimRecord(Part):
    """claim.json: a claim with its verdict."""

    version: Literal[1] = CLAIM_VERSION
    id: str
    text: str = Field(description="the claim's file: another text is another claim")
    windtunnel: str
    decided: AwareDatetime
    host: str
    outcome: Outcome
    because: str
    findings: list[Finding]
    plot: DrawnPlot | None = Field(None, description="null: the claim has none")


class ClaimState(Part):
    """A claim, and how far it is decided here."""

    id: str
    document: str
    place: str
    says: str
    holds_if: str
    commands: list[str]
    takes_ns: int = Field(description="about how long its commands take on two CPUs")
    lacking: str | None = Field(description="why it cannot be decided here; null: it can")
    record: ClaimRecord | None = Field(description="its verdict; null: there is none")
    directory: str | None = Field(description="what its commands wrote; null: they did not run")

    @property
    def outcome(self) -> Outcome | None:
        """None: it can be decided, and was not yet."""
        if self.record:
            return self.record.outcome
        return "not shown" if self.lacking else None

    @property
    def because(self) -> str:
        return self.record.because if self.record else self.lacking or ""


class Claims(Part):
    """What `windtunnel reproduce` prints as JSON."""

    version: Literal[1] = CLAIM_VERSION
    made: AwareDatetime
    windtunnel: str
    claims: list[ClaimState]
    interrupted: bool

    def with_outcome(self, outcome: Outcome | None) -> int:
        """How many claims have it."""
        return sum(claim.outcome == outcome for claim in self.claims)


def write(place: Path, record: ClaimRecord) -> None:
    """Writes a verdict, and seals it."""
    text = record.model_dump_json(indent=1)
    replace(place / NAME, text)
    place_seals.write(place, VERDICT_SEAL, text)


def read(place: Path) -> ClaimRecord | None:
    """The verdict that this user has come to there. None: there is none that can be read, and the claim is decided anew."""
    try:
        content = read_regular(place / NAME, MOST_RECORD_BYTES).decode()
        is_own = place_seals.is_ours(place) and place_seals.holds(place, VERDICT_SEAL, content)
        return ClaimRecord.model_validate_json(content) if is_own else None
    except (UserError, OSError, UnicodeDecodeError, ValidationError):
        return None


def last_verdicts(runs: Path) -> dict[str, tuple[ClaimRecord, Path]]:
    """The newest record of each claim, with its directory, of all reproductions in a directory of runs that this user has begun."""
    records = sorted(_records(runs), key=lambda record_and_place: record_and_place[0].decided)
    return {record.id: (record, place) for record, place in records}


def _records(runs: Path) -> Iterator[tuple[ClaimRecord, Path]]:
    for file in runs.glob(f"*/*/{NAME}"):
        if record := read(file.parent):
            yield record, file.parent
