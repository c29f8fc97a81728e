"""Messages between the driver and a testbed."""

from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel.engine.plan_values import Side
from windtunnel.engine.verdict import Verdict
from windtunnel.host.facts import Facts
from windtunnel.scenario import Cable, HostView, Scenario


@dataclass(frozen=True)
class About:
    """A testbed that has joined, or two with a cable between them."""

    facts: Facts
    """Facts of the host; of the client's, if testbeds are cabled."""
    view: HostView | Cable
    software: dict[str, str]
    server: "About | None" = None
    """The server's testbed, if testbeds are cabled; None: it is one testbed."""


@dataclass(frozen=True)
class Request:
    """One attempt at a job."""

    testbed: str
    scenarios: tuple[Scenario, ...]
    first: int
    settle: bool
    labels: Mapping[str, str]
    counters: tuple[str, ...] = ()
    side: Side | None = None
    """The side that runs there; None: both."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of one run, without its directory."""

    verdict: Verdict
    exit_code: int
    interrupted: bool


@dataclass(frozen=True)
class Ended:
    """A job came to its end, with the run directories in an archive."""

    outcomes: tuple[Outcome, ...]
    packed: bytes


@dataclass(frozen=True)
class Refused:
    """The scenario cannot run there; the fields are those of a UserError."""

    message: str
    remedy: str | None


@dataclass(frozen=True)
class Failed:
    """The testbed failed, for instance because its disk is full."""

    why: str


Reply = Ended | Refused | Failed


@dataclass(frozen=True)
class Joined:
    """A testbed is there, and belongs to this driver until it is dismissed."""

    name: str
    about: About


@dataclass(frozen=True)
class Replied:
    """A testbed is free again."""

    name: str
    reply: Reply


@dataclass(frozen=True)
class Lost:
    """A testbed is gone, with all that ran on it."""

    name: str
    why: str


Event = Joined | Replied | Lost
