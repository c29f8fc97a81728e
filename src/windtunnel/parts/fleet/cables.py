"""Two testbeds with a cable between them as one: a run has its server on one and its client on the other.

Both testbeds get the same scenario, each with its side. Their run directories become one, which the driver takes like that of one
testbed.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from windtunnel.engine.own_directory import for_temporary
from windtunnel.engine.plan_values import Side
from windtunnel.parts.fleet.fleet_file import Cabled
from windtunnel.parts.fleet.messages import (
    About,
    Ended,
    Event,
    Failed,
    Joined,
    Lost,
    Outcome,
    Refused,
    Replied,
    Request,
)
from windtunnel.parts.fleet.run_archive import pack, take
from windtunnel.runs.joined import SIDES, merge
from windtunnel.runs.reader import record_of
from windtunnel.scenario import Cable, HostView


class Testbeds(Protocol):
    """Testbeds by name, of which several may join together. The other methods are those of the executor's `Cluster`."""

    def invite_together(self, names: Sequence[str]) -> None: ...

    def dismiss(self, name: str) -> None: ...

    def start(self, name: str, request: Request) -> None: ...

    def stop(self, name: str) -> None: ...

    def events(self, timeout_s: float) -> list[Event]: ...


@dataclass
class _CableState:
    """The replies of the testbeds of a cable that was invited."""

    abouts: dict[Side, About] = field(default_factory=dict)
    replies: dict[Side, Ended] = field(default_factory=dict)
    """Replies to the latest request."""


class Cables:
    """Cables by name, with the interface of the executor's `Cluster`."""

    def __init__(self, testbeds: Testbeds, cables: Sequence[Cabled]):
        self._testbeds = testbeds
        self._cables: dict[str, dict[Side, str]] = {c.name: {"server": c.server, "client": c.client} for c in cables}
        self._places = {testbed: (name, side) for name, ends in self._cables.items() for side, testbed in ends.items()}
        self._states: dict[str, _CableState] = {}

    @property
    def names(self) -> list[str]:
        return list(self._cables)

    def invite(self, name: str) -> None:
        if name not in self._states:
            self._states[name] = _CableState()
            self._testbeds.invite_together(list(self._cables[name].values()))

    def dismiss(self, name: str) -> None:
        if self._states.pop(name, None):
            for testbed in self._cables[name].values():
                self._testbeds.dismiss(testbed)

    def start(self, name: str, request: Request) -> None:
        assert len(request.scenarios) == 1, "two runs alternate on one host only"
        self._states[name].replies.clear()
        for side, testbed in self._cables[name].items():
            self._testbeds.start(testbed, replace(request, side=side))

    def stop(self, name: str) -> None:
        for testbed in self._cables[name].values():
            self._testbeds.stop(testbed)

    def events(self, timeout_s: float) -> list[Event]:
        cable_events = (self._of_cable(event) for event in self._testbeds.events(timeout_s))
        return [event for event in cable_events if event is not None]

    def _of_cable(self, event: Event) -> Event | None:
        """The event of a cable that follows from an event of its testbed; None: there is none, or the cable was dismissed."""
        name, side = self._places[event.name]
        if (cable := self._states.get(name)) is None:
            return None
        if isinstance(event, Joined):
            cable.abouts[side] = event.about
            return Joined(name, _about(cable.abouts)) if len(cable.abouts) == len(SIDES) else None
        if isinstance(event, Lost):
            self.dismiss(name)
            return Lost(name, f"{event.name}: {event.why}")
        if isinstance(event.reply, Refused):
            return Replied(name, Refused(f"{side} on {event.name}: {event.reply.message}", event.reply.remedy))
        if isinstance(event.reply, Failed):
            return Replied(name, Failed(f"{event.name}: {event.reply.why}"))
        cable.replies[side] = event.reply
        return Replied(name, _merged(cable.replies)) if len(cable.replies) == len(SIDES) else None


def _about(abouts: dict[Side, About]) -> About:
    server, client = abouts["server"], abouts["client"]
    assert isinstance(server.view, HostView) and isinstance(client.view, HostView)
    return About(client.facts, Cable(server.view, client.view), client.software, server)


def _merged(replies: dict[Side, Ended]) -> Ended:
    """One reply from those of both testbeds."""
    outcomes = [replies[side].outcomes[0] for side in SIDES]
    with tempfile.TemporaryDirectory(prefix="windtunnel-", dir=for_temporary()) as place:
        server, client, whole = (Path(place, name) for name in (*SIDES, "whole"))
        take(replies["server"].packed, [server])
        take(replies["client"].packed, [client])
        merge(server, client, whole)
        exit_code = next((outcome.exit_code for outcome in outcomes if outcome.exit_code), 0)
        interrupted = any(outcome.interrupted for outcome in outcomes)
        return Ended((Outcome(record_of(whole).verdict, exit_code, interrupted),), pack([whole]))
