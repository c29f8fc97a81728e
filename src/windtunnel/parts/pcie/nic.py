"""NICs as data: each is a TOML file in which every number has its source, or is an assumption with its reason if it was never published."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from windtunnel.errors import UserError
from windtunnel.parts.pcie.link import GIGATRANSFERS, LANES
from windtunnel.scenario.refusal import Refusal, dotted, shown
from windtunnel.scenario.toml_model import validated
from windtunnel.text_file import read_text

MAX_FILE_BYTES = 64 << 10
GENERIC = "generic"
MOST = 65535
"""Largest number of a NIC. A larger one is a typing error."""


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Known(Part):
    """A number: `value` with its `source`, or `assumed` with the reason `why`."""

    value: Annotated[int, Field(ge=0, le=MOST)] | None = None
    source: Annotated[str, Field(min_length=1)] | None = None
    assumed: Annotated[int, Field(ge=0, le=MOST)] | None = None
    why: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "Known":
        sourced, assumed = (self.value, self.source), (self.assumed, self.why)
        if (None in sourced) == (None in assumed) or (None in sourced and sourced != (None, None)):
            raise ValueError("needs value and source, or assumed and why")
        return self

    @property
    def number(self) -> int:
        number = self.assumed if self.value is None else self.value
        assert number is not None  # _one_of_both
        return number

    @property
    def words(self) -> str:
        return f"assumed: {self.why}" if self.source is None else self.source


class _Positive(Known):
    @model_validator(mode="after")
    def _above_zero(self) -> "_Positive":
        if self.number < 1:
            raise ValueError("must be at least 1")
        return self


def _one_of(numbers: tuple[int, ...]) -> Callable[[_Positive], _Positive]:
    def check(entry: _Positive) -> _Positive:
        if entry.number not in numbers:
            raise ValueError(f"is {entry.number}, and must be one of {', '.join(map(str, numbers))}")
        return entry

    return check


class About(Part):
    name: str = Field(pattern=r"^[a-z0-9_-]{1,32}$")
    title: str
    drivers: list[str] = Field(description="DPDK's names of the drivers that it stands for")


class LinkOf(Part):
    """The widest link of the card; the negotiated one is an option of the command."""

    generation: Annotated[_Positive, AfterValidator(_one_of(tuple(GIGATRANSFERS)))]
    lanes: Annotated[_Positive, AfterValidator(_one_of(LANES))]


class Rx(Part):
    """Costs of receiving; sizes are bytes."""

    descriptor: _Positive = Field(description="that the NIC fetches for each packet")
    write_back: _Positive = Field(description="that it writes when the packet is there")
    compressed_write_back: _Positive = Field(description="that it writes if it compresses them")
    doorbell: Known = Field(description="written to a register of the NIC; 0: the doorbell is in host memory")
    free_threshold: Known = Field(description="descriptors given back at once, by the driver's default")
    fetched_together: _Positive = Field(description="descriptors fetched by one read")
    written_together: _Positive = Field(description="write-backs in one write")

    @model_validator(mode="after")
    def _compression_saves(self) -> "Rx":
        small, whole = self.compressed_write_back.number, self.write_back.number
        if small > whole:
            raise ValueError(f"has a compressed_write_back of {small} bytes, more than the {whole} of write_back")
        return self


class Tx(Part):
    """Costs of sending; sizes are bytes."""

    descriptor: _Positive = Field(description="of each packet")
    header: Known = Field(description="that the descriptors of a burst have together")
    unit: _Positive = Field(description="to whose multiples descriptors are rounded up")
    write_back: _Positive = Field(description="that the NIC writes to report what was sent")
    rs_threshold: _Positive = Field(description="packets between two reports, by the driver's default")
    doorbell: _Positive
    doorbell_packets: Known = Field(description="most packets that one doorbell announces; 0: the whole burst")
    fetched_together: _Positive = Field(description="descriptors of packets fetched by one read")
    inline: Known = Field(
        description="packets up to this size travel within their descriptors, by the driver's default"
    )


class Nic(Part):
    nic: About
    link: LinkOf
    rx: Rx
    tx: Tx

    @property
    def name(self) -> str:
        return self.nic.name

    def entries(self) -> list[tuple[str, Known]]:
        """All numbers of the file, by their paths."""
        parts = (("link", self.link), ("rx", self.rx), ("tx", self.tx))
        return [(f"{name}.{key}", getattr(part, key)) for name, part in parts for key in type(part).model_fields]


@cache
def shipped() -> tuple[str, ...]:
    """Names of the NICs that come with Windtunnel, the generic one first."""
    names = [entry.name.removesuffix(".toml") for entry in files("windtunnel.parts.pcie").joinpath("nics").iterdir()]
    return tuple(sorted(names, key=lambda name: (name != GENERIC, name)))


def load_nic(name: str) -> Nic:
    """A shipped NIC by its name, or the user's file by its path. Raises UserError with file and line."""
    return shipped_nic(name) if name in shipped() else read_nic(Path(name), text_of(name))


@cache
def shipped_nic(name: str) -> Nic:
    """A shipped NIC. Raises UserError for any other name: a record may be untrusted, and a file that it names is not opened."""
    if name not in shipped():
        raise UserError(f'no shipped NIC "{name}"', remedy=f"one of {', '.join(shipped())}")
    return read_nic(Path(name), text_of(name))


def text_of(name: str) -> str:
    """The TOML of a shipped NIC, or of a file. Raises UserError if there is none."""
    if name in shipped():
        return files("windtunnel.parts.pcie").joinpath("nics", f"{name}.toml").read_text(encoding="utf-8")
    if not name.endswith(".toml"):
        raise UserError(f'no NIC "{name}"', remedy=f"one of {', '.join(shipped())}, or a file of your own (.toml)")
    return read_text(Path(name), MAX_FILE_BYTES, "`windtunnel pcie nics generic --toml` prints one to begin with")


def read_nic(file: Path, text: str) -> Nic:
    """The NIC of a text. Raises UserError with file and line."""
    return validated(Nic, file, text, _refusal)


def for_driver(driver: str) -> str:
    """The shipped NIC that represents a driver of DPDK; the generic one if none does."""
    return next((name for name in shipped() if driver in load_nic(name).nic.drivers), GENERIC)


def _refusal(error: Any) -> Refusal:
    path = tuple(error["loc"])
    name = dotted(path)
    if error["type"] == "missing":
        return Refusal(path, f"{name} is missing", _remedy(path))
    if error["type"] == "extra_forbidden":
        return Refusal(path, f'unknown key "{name}"', "`windtunnel pcie nics generic --toml` shows every key")
    if error["type"] == "value_error":
        return Refusal(path, f"{name} {error['ctx']['error']}", '{ value = 16, source = "where it is written" }')
    return Refusal(path, f"{name} is {shown(error['input'])}: {error['msg']}", _remedy(path))


def _remedy(path: tuple[int | str, ...]) -> str:
    if len(path) == 1:
        return f"write the table [{path[0]}]"
    return f'{path[1]} = {{ value = 16, source = "where it is written" }}' if path[0] != "nic" else f"{path[-1]} = ..."
