"""Copy engines as data: one TOML file each, for the copier `model`. Every figure has its source, and what nobody has published is an
assumption with its reason. Those that come with Windtunnel are in `engines`, beside this file; a scenario may name a file of its own."""

import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from windtunnel.engine.plan_values import MAX_AT_ONCE, U32
from windtunnel.errors import UserError
from windtunnel.parts.copies.plan import CurvePoint, ModelledDevice, ModelledEngine
from windtunnel.scenario.refusal import Refusal, dotted, shown
from windtunnel.scenario.toml_model import validated
from windtunnel.text_file import read_text

MAX_FILE_BYTES = 64 << 10
MOST = 1e12
"""No figure is greater. A greater one is a typing error."""
EXAMPLE = "`windtunnel copiers dsa-spr` prints a profile with every key"
NEEDS = "needs value and source, or assumed and why"

Number = Annotated[float, Field(ge=0, le=MOST, allow_inf_nan=False)]
Point = Annotated[list[Number], Field(min_length=2, max_length=2)]
Words = Annotated[str, Field(min_length=1)]
Value = TypeVar("Value")


class Part(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True)


class _Sourced(Part, Generic[Value]):
    """`value` with its `source`, or `assumed` with the reason `why`."""

    value: Value | None = None
    source: Words | None = None
    assumed: Value | None = None
    why: Words | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "_Sourced[Value]":
        pairs = (self.value, self.source), (self.assumed, self.why)
        if sorted(sum(part is not None for part in pair) for pair in pairs) != [0, 2]:
            raise ValueError(NEEDS)
        return self

    @property
    def given(self) -> Value:
        value = self.assumed if self.value is None else self.value
        assert value is not None  # _one_of_both
        return value


class Known(_Sourced[Number]):
    @property
    def words(self) -> str:
        return f"{self.given:g}"


class Whole(Known):
    @model_validator(mode="after")
    def _at_least_one(self) -> "Whole":
        if not 1 <= self.given <= U32 or self.given != int(self.given):
            raise ValueError("must be a whole number from 1 on")
        return self


class Queues(Whole):
    @model_validator(mode="after")
    def _not_too_many(self) -> "Queues":
        if self.given > MAX_AT_ONCE:
            raise ValueError(f"must be at most {MAX_AT_ONCE}")
        return self


class Truth(_Sourced[bool]):
    @property
    def words(self) -> str:
        return str(self.given).lower()


class Curve(_Sourced[Annotated[list[Point], Field(min_length=1, max_length=256)]]):
    """Points of a size in bytes and a figure: ascending by size. Between two points it is straight on logarithmic axes."""

    @model_validator(mode="after")
    def _ascending(self) -> "Curve":
        sizes = [size for size, _ in self.given]
        if any(size != int(size) or not 1 <= size <= U32 for size in sizes):
            raise ValueError("has a size that is not a whole number of bytes")
        if any(before >= size for before, size in pairwise(sizes)):
            raise ValueError("has sizes that do not ascend")
        if len(sizes) > 1 and any(value == 0 for _, value in self.given):
            raise ValueError("has several points, and one is 0")
        return self

    @property
    def words(self) -> str:
        return ", ".join(f"{value:g} at {size:g} B" for size, value in self.given)

    def at(self, bytes_: int) -> float:
        """The figure at a size, as the engine has it (engine/parts/copies/copiers/size_curve.cc)."""
        points = self.given
        behind = next((n for n, (size, _) in enumerate(points) if size >= bytes_), len(points))
        if behind in (0, len(points)):
            return points[min(behind, len(points) - 1)][1]
        (size, value), (next_size, next_value) = points[behind - 1], points[behind]
        way = math.log(bytes_ / size) / math.log(next_size / size)
        return math.exp(math.log(value) + way * math.log(next_value / value))


class Rates(Curve):
    @model_validator(mode="after")
    def _above_zero(self) -> "Rates":
        if self.given[0][1] <= 0:
            raise ValueError("has a rate of 0")
        return self


class About(Part):
    name: str = Field(pattern=r"^[a-z0-9_.-]{1,32}$")
    title: Words


class Caller(Part):
    """What copies take of the worker, ns."""

    burst: Known = Field(description="each submit")
    copy_: Curve = Field(alias="copy", description="each copy of a submit, by size")
    poll: Known = Field(description="each poll")
    end: Known = Field(description="each end that a poll finds")


class Device(Part):
    """What moves the bytes beside the worker."""

    latency: Known = Field(description="ns of every copy, beside the time for its bytes")
    rate: Rates = Field(description="GB/s (10^9 bytes) of a copy that works alone, by size")
    at_once: Queues = Field(description="copies that it works on at a time, each at this rate")
    queue: Whole = Field(description="copies that it takes at most")
    reports_bursts: Truth = Field(description="whether the copies of a submit are reported together")


class Profile(Part):
    engine: About
    caller: Caller
    device: Device | None = Field(None, description="absent: copies have ended with their submit")

    @property
    def name(self) -> str:
        return self.engine.name

    def entries(self) -> Iterator[tuple[str, Known | Truth | Curve]]:
        """Every figure of the file, by its path."""
        for name, part in (("caller", self.caller), ("device", self.device)):
            for key, field in type(part).model_fields.items() if part else ():
                yield f"{name}.{field.alias or key}", getattr(part, key)

    def assumptions(self) -> list[str]:
        """Figures that nobody has published, with the reasons."""
        return [f"{path} = {known.words}: {known.why}" for path, known in self.entries() if known.why]

    def plan(self) -> ModelledEngine:
        """The profile in the plan's words: plain numbers."""
        caller, device = self.caller, self.device
        return ModelledEngine(
            name=self.name,
            burst_ns=caller.burst.given,
            copy_ns=_points(caller.copy_),
            poll_ns=caller.poll.given,
            end_ns=caller.end.given,
            device=_device(device) if device else None,
        )


def _device(device: Device) -> ModelledDevice:
    return ModelledDevice(
        latency_ns=device.latency.given,
        bytes_per_ns=_points(device.rate),
        at_once=int(device.at_once.given),
        queue=int(device.queue.given),
        reports_bursts=device.reports_bursts.given,
    )


def _points(curve: Curve) -> list[CurvePoint]:
    return [CurvePoint(bytes=int(size), value=value) for size, value in curve.given]


@cache
def shipped() -> tuple[str, ...]:
    """Names of the profiles that come with Windtunnel."""
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir()))


def _folder() -> Any:
    return files("windtunnel").joinpath("parts", "copies", "engines")


def load_profile(name: str, named_in: Path | None = None) -> Profile:
    """A shipped profile by its name, or a file by its path. `named_in`: the directory of the file that names it, from where the path is; None: the
    user does. Raises UserError with file and line."""
    directory = named_in or Path()
    file = Path(name) if name in shipped() else directory / name
    return read_profile(file, text_of(name, directory), named_in)


def text_of(name: str, directory: Path = Path()) -> str:
    """The TOML of a shipped profile, or of a file. Raises UserError if there is none."""
    if name in shipped():
        text: str = _folder().joinpath(f"{name}.toml").read_text(encoding="utf-8")
        return text
    if not name.endswith(".toml"):
        known = ", ".join(shipped())
        raise UserError(
            f'no profile "{name}" of a copy engine', remedy=f"one of {known}, or a file of your own (.toml)"
        )
    return read_text(directory / name, MAX_FILE_BYTES, EXAMPLE)


def read_profile(file: Path, text: str, named_in: Path | None = None) -> Profile:
    """`named_in`: the directory of the file that names this one; None: the user does. Raises UserError that names file and line."""
    return validated(Profile, file, text, _refusal, named_in)


def _refusal(error: Any) -> Refusal:
    path = tuple(error["loc"])
    name = dotted(path)
    if error["type"] == "missing":
        return Refusal(path, f"{name} is missing", EXAMPLE)
    if error["type"] == "extra_forbidden":
        return Refusal(path, f'unknown key "{name}"', EXAMPLE)
    if error["type"] == "value_error":
        message = str(error["ctx"]["error"])
        return Refusal(
            path, f"{name} {message}", '{ value = 16, source = "where it is written" }' if message == NEEDS else EXAMPLE
        )
    return Refusal(path, f"{name} is {shown(error['input'])}: {error['msg']}", EXAMPLE)
