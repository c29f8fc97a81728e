"""The file of a claim: where a document makes it, which commands of this product answer it, and which quantities decide.

A quantity is a query in SQL over what the commands have written. So a claim is data, and whoever doubts a verdict can type its commands.
"""

import re
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from windtunnel.errors import UserError
from windtunnel.parts.reproduce.needs import NEEDS
from windtunnel.scenario.load import parsed, refusal_of
from windtunnel.scenario.quantities import Duration
from windtunnel.scenario.refusal import Source
from windtunnel.scenario.table import FileTable, Table
from windtunnel.scenario.values import Wanted
from windtunnel.text_file import read_text

MAX_FILE_BYTES = 64 << 10
DOCUMENTS = {
    "000": "Axio",
    "001": "Performance evaluation of software data planes",
    "002": "User space network stack acceleration with DSA",
    "003": "PCIe traffic in DPDK apps",
    "004": "PvCC",
}
"""Number of a document -> its short title; docs/how-to/reproduce-a-paper.md has the whole ones."""
PLACE = re.compile(r"{(out|place|claims|checkout)}")
"""In the words of a command."""
RESERVED = ("claim.json", "claim.toml")
"""Files of the claim's directory that its commands do not write."""
DONE, LOG = ".done", ".log"
"""Suffixes of the files that say how far a command is, and what it has printed."""


def _need(text: str) -> str:
    name, _, count = text.partition(":")
    if name not in NEEDS or (name == "cpus") != count.isdecimal():
        raise ValueError(f'"{text}" is no need')
    return text


Need = Annotated[
    str, AfterValidator(_need), Wanted(f"one of {', '.join(name if name != 'cpus' else 'cpus:N' for name in NEEDS)}")
]


class Command(Table):
    """A command of this product, in the claim's directory."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,39}$",
        description="of the file or directory that it writes; what it prints is in name.log",
    )
    run: str = Field(
        min_length=1,
        description="words behind `windtunnel`; {out}: the directory that it writes; {place}: that of the claim; {claims}: of the shipped claims; {checkout}: of the sources",
    )
    stdout: str | None = Field(
        None,
        pattern=r"^[a-z0-9][a-z0-9_.-]{0,60}$",
        description="file to which its standard output goes, as in diagnosis.json",
    )
    exits: list[int] = Field([0], min_length=1, description="exit codes with which it has done its work")

    @field_validator("run")
    @classmethod
    def _can_be_split(cls, run: str) -> str:
        try:
            arguments = PLACE.sub("", " ".join(shlex.split(run)))
        except ValueError as error:
            raise ValueError(f"it cannot be split into words: {error}") from None
        if unknown := re.search(r"{[^{}]*}?|}", arguments):
            raise ValueError(f"{unknown[0]} is none of {{out}}, {{place}}, {{claims}}, {{checkout}}")
        return run

    @field_validator("stdout")
    @classmethod
    def _is_its_own(cls, stdout: str | None) -> str | None:
        if stdout in RESERVED or (stdout or "").endswith((DONE, LOG)):
            raise ValueError(f"{stdout} is a file of the claim itself")
        return stdout

    @property
    def writes(self) -> list[str]:
        """Names of what it writes into the claim's directory."""
        return [self.name, self.name + LOG, *([self.stdout] if self.stdout else [])]

    @property
    def goes_on(self) -> bool:
        """Whether it goes on in the directory that an earlier call of it was ended in."""
        return self.run.partition(" ")[0] == "study"


class Quantity(Table):
    """A number that decides, and its bounds. The claim holds if the whole 99% interval of each quantity lies within them."""

    what: str = Field(min_length=1, max_length=200, description="what it is, with its unit")
    sql: str = Field(
        min_length=1, description="one row a repeat, in the order of time: `value`, and `case` if there are several"
    )
    at_least: float | None = Field(None, description="lower bound")
    at_most: float | None = Field(None, description="upper bound")
    exact: bool = Field(
        False, description="each value is counted or calculated: it has no noise, and lies within the bounds by itself"
    )

    @model_validator(mode="after")
    def _bounded(self) -> "Quantity":
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound: at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least is {self.at_least:g}, above at_most, {self.at_most:g}")
        return self


class Curve(Table):
    """Points of a plot, as markers with the spread of their repeats."""

    name: str = Field(min_length=1, max_length=100, description="in the legend")
    published: bool = Field(
        False, description="it is what the document says, and not measured here; drawn as a dashed line"
    )
    sql: str = Field(min_length=1, description="one row a repeat and point: `x` and `y`")


class Plot(Table):
    """The document's plot, drawn from what was measured here: the same axes, the same curves."""

    x: str = Field(min_length=1, max_length=100, description="title of the axis")
    y: str = Field(min_length=1, max_length=100, description="title of the axis")
    logarithmic: list[Literal["x", "y"]] = Field(default_factory=list, description="axes")
    curve: list[Curve] = Field(min_length=1, max_length=12, description="curves")


class Claim(FileTable):
    """What a document says, and how it is decided here."""

    id: str = Field(
        pattern=r"^[a-z0-9]{1,20}/[a-z0-9][a-z0-9-]{0,39}$", description="number of the document, and a word"
    )
    place: str = Field(min_length=1, max_length=200, description="where the document says it")
    says: str = Field(min_length=1, max_length=500, description="what it says, in one sentence")
    holds_if: str = Field(min_length=1, max_length=500, description="the criterion, as the end of a sentence")
    takes: Annotated[int, Duration("1s", "100h")] = Field(
        "1min", validate_default=True, description="about how long, on two CPUs"
    )
    needs: list[Need] = Field(default_factory=list, description="what the host must have")
    modelled: bool = Field(
        False, description="a model is asked, or an emulated device, and nothing is measured: it never just holds"
    )
    command: list[Command] = Field(default_factory=list, description="what answers it, in this order")
    quantity: list[Quantity] = Field(default_factory=list, description="what decides")
    plot: Plot | None = Field(None, description="the document's plot, redrawn")
    undecided: str | None = Field(
        None, max_length=300, description="why this product cannot decide it, if there are no commands"
    )

    @model_validator(mode="after")
    def _decidable(self) -> "Claim":
        if bool(self.command and self.quantity) == bool(self.undecided):
            raise ValueError("has commands and quantities, or says why it is undecided")
        names = [command.name for command in self.command]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two commands are called {twice[0]}")
        written = [name for command in self.command for name in command.writes]
        if twice := [name for name in written if written.count(name) > 1]:
            raise ValueError(f"two commands write {twice[0]}")
        return self

    @property
    def document(self) -> str:
        number = self.id.partition("/")[0]
        return DOCUMENTS.get(number, number)


def shipped() -> list[Claim]:
    """All claims of the five documents, by their ids."""
    return sorted(map(read, folder().glob("*.toml")), key=lambda claim: claim.id)


def folder() -> Path:
    return Path(str(files("windtunnel.parts.reproduce") / "claims"))


def read(file: Path) -> Claim:
    """The claim in a file. Raises UserError as `read_as`."""
    return read_as(Claim, file, "the file of a claim", "name a claim by its id, or a file of a claim")


FileOf = TypeVar("FileOf", bound=FileTable)


def read_as(model: type[FileOf], file: Path, called: str, remedy: str) -> FileOf:
    """What a TOML file has, as its model. Raises UserError with file and line, the fault, and a remedy: `remedy`, if it is no text."""
    text = read_text(file, MAX_FILE_BYTES, remedy)
    data: dict[str, Any] = parsed(file, text)
    source = Source(file, text)
    try:
        table = model.model_validate(data)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        first = next((detail for detail in errors if detail["type"] == "extra_forbidden"), errors[0])
        raise source.reading_error(refusal_of(first, model, called)) from None
    table._source = source
    return table


def selected(words: list[str]) -> list[Claim]:
    """The claims that words name: an id, a document as "001", "all", or a file that ends in .toml. Raises UserError for any other word."""
    claims = shipped()
    chosen: dict[str, Claim] = {}
    for word in words:
        if word.endswith(".toml"):
            named = [read(Path(word))]
        else:
            named = [claim for claim in claims if word in ("all", claim.id, claim.id.partition("/")[0])]
        if not named:
            raise UserError(
                f'there is no claim "{word}"', remedy="windtunnel reproduce lists them; all of a document: 001"
            )
        for claim in named:
            if chosen.setdefault(claim.id, claim).source.file != claim.source.file:
                remedy = f"another id than {claim.id} in one of them"
                raise UserError(f"{claim.source.file} and {chosen[claim.id].source.file} have the same id", remedy)
    return list(chosen.values())
