"""Every key of a fleet file: its type, default and one-line help."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from windtunnel.errors import UserError
from windtunnel.runs.joined import SIDES
from windtunnel.scenario.load import parsed, refusal_of
from windtunnel.scenario.quantities import Duration
from windtunnel.scenario.refusal import Refusal, Source
from windtunnel.scenario.table import Table
from windtunnel.scenario.values import Wanted
from windtunnel.text_file import read_text

MAX_FILE_BYTES = 64 << 10
MOST_TESTBEDS = 1024
MOST_PORT = 65535
ADDRESS = re.compile(r"(?:ray://)?(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(?P<port>[0-9]{1,5})")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
FORMS = '"ray://HOST:PORT" (10001 by default), "HOST:PORT" of the head (6379) on a node of the cluster, or "auto"'


def is_address(text: str) -> bool:
    """Whether a text is an address of a Ray cluster, rather than the name of a file."""
    match = ADDRESS.fullmatch(text)
    return text == "auto" or (match is not None and 0 < int(match["port"]) <= MOST_PORT)


def _address(text: str) -> str:
    if not is_address(text):
        raise ValueError(f'"{text}" is not an address of a Ray cluster')
    return text


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise ValueError(f'"{text}" is not a name')
    return text


Name = Annotated[str, AfterValidator(_name), Wanted('a name of letters, digits, ".", "_" and "-"')]


class Testbed(Table):
    """A testbed that may be used."""

    name: Name = Field(description='as in the resource of its node: "testbed:NAME"')


class Cabled(Table):
    """Two testbeds with a cable between them: each run has its server on one and its client on the other."""

    server: Name = Field(description="the testbed on which the server runs")
    client: Name = Field(description="the testbed on which the client runs")

    @property
    def name(self) -> str:
        return f"{self.server}+{self.client}"


class FleetFile(Table):
    """A fleet."""

    address: Annotated[str, AfterValidator(_address), Wanted(FORMS)] = Field(description="of the Ray cluster")
    spread: bool = Field(
        False,
        description="each repeat of a study has a testbed of its own, and points are compared within one testbed; false: all repeats of a "
        "point are on one testbed, and the testbeds must be alike",
    )
    without_token: bool = Field(
        False,
        description="use a cluster that asks for no token; anybody who can reach such a cluster can run code as its user, on this host too",
    )
    wait: Annotated[int, Duration("100ms", "1000h")] = Field(
        "1min", validate_default=True, description="how long to wait for the cluster, and for a testbed that is free"
    )
    silence: Annotated[int, Duration("1s", "1h")] = Field(
        "30s", validate_default=True, description="a testbed that has not replied for so long during a run is lost"
    )
    testbed: list[Testbed] = Field(
        default_factory=list,
        max_length=MOST_TESTBEDS,
        description="testbeds that may be used; none: all of the cluster",
    )
    cable: list[Cabled] = Field(
        default_factory=list,
        max_length=MOST_TESTBEDS // 2,
        description="pairs of testbeds that may be used; none: a run has one testbed",
    )

    @property
    def names(self) -> list[str]:
        """Names of all testbeds that may be used; none: all of the cluster."""
        return [testbed.name for testbed in self.testbed] or [n for c in self.cable for n in (c.server, c.client)]


def read(file: Path) -> FleetFile:
    """The fleet file. Raises UserError with file and line, the fault, and a remedy."""
    text = read_text(file, MAX_FILE_BYTES, f"--on takes a fleet file, or an address: {FORMS}")
    data: dict[str, Any] = parsed(file, text)
    try:
        fleet = FleetFile.model_validate(data)
        _check_names(fleet)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        first = next((detail for detail in errors if detail["type"] == "extra_forbidden"), errors[0])
        raise Source(file, text).reading_error(refusal_of(first, FleetFile, "the fleet file")) from None
    except Refusal as refusal:
        raise Source(file, text).reading_error(refusal) from None
    return fleet


def _check_names(file: FleetFile) -> None:
    if file.testbed and file.cable:
        raise Refusal(
            ("testbed", 0, "name"),
            "[[testbed]] and [[cable]] exclude each other",
            "name cabled testbeds only in [[cable]]",
        )
    places = [(("testbed", n, "name"), testbed.name) for n, testbed in enumerate(file.testbed)]
    places += [(("cable", n, side), getattr(cable, side)) for n, cable in enumerate(file.cable) for side in SIDES]
    for number, (place, name) in enumerate(places):
        if name in [earlier for _, earlier in places[:number]]:
            raise Refusal(place, f'testbed "{name}" is there twice', "name each testbed once")


def fleet_of_option(on: str) -> FleetFile:
    """The fleet of the option --on: a fleet file, or the address of a cluster with all its testbeds. Raises UserError."""
    if is_address(on):
        return FleetFile(address=on)
    if "://" in on:
        raise UserError(f'--on {on}: "{on}" is not an address of a Ray cluster', remedy=FORMS)
    return read(Path(on))
