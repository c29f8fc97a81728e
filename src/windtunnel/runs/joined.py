"""The two run directories of a run on two hosts as one run.

Each host has a clock of its own, and no time of one is ever subtracted from one of the other: windows go together by their
index alone, counts by what they count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.engine.lines import Window
from windtunnel.engine.plan_values import Side
from windtunnel.engine.verdict import Verdict
from windtunnel.errors import UserError
from windtunnel.runs.reader import Run
from windtunnel.runs.record import EngineRecord, Record
from windtunnel.runs.validity import HEADLINES, HostState, Validity

SIDES: tuple[Side, ...] = ("server", "client")
REFUSED = "refused_hello"
"""Reason for dropping a hello that does not fit this run; the server has responded to each."""
FOREIGN = (
    "untagged",
    "tagged",
    "other_vlan",
    "double_tagged",
    "not_ipv4",
    "not_ipv6",
    "not_for_us",
    "arp_not_for_us",
    "arp_unasked",
    "neighbour_not_for_us",
    "neighbour_unasked",
    "unknown_port",
    "bad_hello",
    "stray_hello",
    REFUSED,
)
"""Reasons for which a host drops frames that the other one never sent: a wire carries more than our traffic."""


@dataclass(frozen=True)
class Crossing:
    """Packets from one host to the other over the whole run, each counted by the host itself."""

    source: Side
    sent: int
    """By the source's own port, without responses to foreign hellos."""
    received: int
    """By the other host's port, without foreign frames."""
    foreign: int

    @property
    def lost(self) -> int:
        """Between the hosts, in NICs, kernels and the wire: found as the difference. Below 0 where foreign frames
        passed for ours."""
        return self.sent - self.received


@dataclass(frozen=True)
class Joined(Run):
    """Both sides. `path` is the client's directory, `record.host` has the facts of each host by its side."""

    paths: dict[Side, Path] = field(default_factory=dict)
    session: str = ""
    crossings: Sequence[Crossing] = ()


def join(runs: Sequence[Run]) -> Joined | None:
    """The two sides of one run joined; None for any other set of runs. Raises UserError for two sides of two runs."""
    if len(runs) != 2 or not all(map(_ran_alone, runs)):
        return None
    by_side = {_engine(run).plan.endpoints[0].side: run for run in runs}
    if len(by_side) != 2:
        return None
    server, client = (by_side[side] for side in SIDES)
    _check(server, client)
    windows: dict[str, list[Window]] = {side: next(iter(by_side[side].windows.values())) for side in SIDES}
    return Joined(
        path=client.path,
        record=_record(server.record, client.record),
        windows=windows,
        problems=[f"{side}: {problem}" for side in SIDES for problem in by_side[side].problems],
        paths={side: by_side[side].path for side in SIDES},
        session=_session(client) or "",
        crossings=[
            _crossing("client", windows["client"], windows["server"]),
            _crossing("server", windows["server"], windows["client"]),
        ],
    )


def _engine(run: Run) -> EngineRecord:
    return run.record.engines[0]


def _session(run: Run) -> str | None:
    peer = _engine(run).peer
    return peer.session if peer else None


def _ran_alone(run: Run) -> bool:
    return len(run.record.engines) == 1 and _engine(run).plan.hello_wait_ns is not None


def _check(server: Run, client: Run) -> None:
    for run, other in ((server, client), (client, server)):
        if _engine(run).peer is None:
            raise UserError(
                f"{run.path}: no handshake with another host, so {other.path} cannot be joined with it",
                remedy=f"windtunnel show {run.path}",
            )
    if _session(server) != _session(client):
        raise UserError(
            f"{server.path} and {client.path} are sides of different runs",
            remedy="two run directories with the same `session` in run.json",
        )


def _record(server: Record, client: Record) -> Record:
    reasons = [
        f"{reason} [{side}]" for side, of in zip(SIDES, (server, client), strict=True) for reason in of.verdict.reasons
    ]
    return client.model_copy(
        update={
            "verdict": Verdict(not reasons, reasons),
            "rejected": None,
            "validity": _validity(server, client),
            "relaxed": list(dict.fromkeys([*client.relaxed, *server.relaxed])),
            "scenario": client.scenario | {"server": server.scenario["server"]},
            "notes": list(dict.fromkeys([*client.notes, *server.notes])),
            "host": {"client": client.host, "server": server.host},
            "versions": {
                name: _same_or_both(client.versions.get(name), server.versions.get(name))
                for name in client.versions | server.versions
            },
            "engines": [server.engines[0], client.engines[0]],
        }
    )


def _validity(server: Record, client: Record) -> Validity | None:
    """What either side found out: a window that one side excluded is excluded on both. Each host has states of its own, the client's
    first: they have its responses."""
    if server.validity is None or client.validity is None:
        return None
    found = {"client": client.validity, "server": server.validity}
    return Validity(
        checks=[check for side in SIDES for check in found[side].checks],
        excluded=[window for side in SIDES for window in found[side].excluded],
        states=[_of_side(state, side) for side, of in found.items() for state in of.states],
        headline=HEADLINES.join(f"{of.headline} [{side}]" for side, of in found.items() if of.headline) or None,
    )


def _of_side(state: HostState, side: str) -> HostState:
    return state.model_copy(update={"name": f"{state.name} [{side}]", "words": f"{state.words} [{side}]"})


def _same_or_both(client: str | None, server: str | None) -> str:
    return str(client) if client == server else f"{client} on the client, {server} on the server"


def _crossing(source: Side, sending: Sequence[Window], receiving: Sequence[Window]) -> Crossing:
    foreign = _dropped(receiving, FOREIGN)
    return Crossing(
        source=source,
        sent=sum(port.tx_packets for window in sending for port in window.ports) - _dropped(sending, (REFUSED,)),
        received=sum(port.rx_packets for window in receiving for port in window.ports) - foreign,
        foreign=foreign,
    )


def _dropped(windows: Sequence[Window], reasons: Sequence[str]) -> int:
    return sum(stage.drops.get(reason, 0) for window in windows for stage in window.stages for reason in reasons)
