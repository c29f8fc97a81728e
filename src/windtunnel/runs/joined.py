"""A run on two hosts as one run: from the directories of its two sides, or from the one that `merge` has made of them.

Each host has a clock of its own, and no time of one is ever subtracted from one of the other: windows go together by their
index alone, counts by what they count.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from windtunnel.engine.plan_values import Side
from windtunnel.engine.verdict import Verdict
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError, as_argument, cannot_write
from windtunnel.runs.directories import making
from windtunnel.runs.files import copy, mode_of_copy, replace
from windtunnel.runs.reader import MOST_WINDOWS_BYTES, Run, load
from windtunnel.runs.record import EngineRecord, Record
from windtunnel.runs.validity import HEADLINES, HostState, Validity
from windtunnel.text_file import read_regular

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
    """Packets that the source's own port counted, without responses to foreign hellos."""
    received: int
    """Packets that the other host's port counted, without foreign frames."""
    foreign: int

    @property
    def lost(self) -> int:
        """Packets lost between the hosts, in NICs, kernels and the wire: the difference. Below 0 if foreign frames
        passed for ours."""
        return self.sent - self.received


@dataclass(frozen=True)
class Joined(Run):
    """Both sides, each with a directory of its own. `path` is the client's, `record.host` has the facts of each host by its side."""

    paths: dict[Side, Path] = field(default_factory=dict)


def join(runs: Sequence[Run]) -> Joined | None:
    """The two sides of one run joined; None for any other set of runs. Raises UserError for two sides of two runs."""
    if len(runs) != 2 or not all(map(_ran_alone, runs)):
        return None
    by_side = {_engine(run).plan.endpoints[0].side: run for run in runs}
    if len(by_side) != 2:
        return None
    server, client = (by_side[side] for side in SIDES)
    _check(server, client)
    return _joined(server, client)


def _joined(server: Run, client: Run) -> Joined:
    sides = {"server": server, "client": client}
    return Joined(
        path=client.path,
        record=_record(server.record, client.record),
        windows={side: next(iter(run.windows.values())) for side, run in sides.items()},
        problems=[f"{side}: {problem}" for side, run in sides.items() for problem in run.problems],
        paths={"server": server.path, "client": client.path},
    )


def merge(server: Path, client: Path, directory: Path) -> None:
    """Makes one run directory of those of two sides, which stay as they are. Whoever calls knows that they belong together: two sides that
    never met make an invalid run. Raises UserError if the new directory exists or cannot be written."""
    joined = _joined(load(server), load(client))
    try:
        with making(directory, mode_of_copy(*(path.stat() for path in joined.paths.values()))) as made:
            for side, path in joined.paths.items():
                for file in sorted(path.iterdir()):
                    _copy_of(side, file, made)
            record = joined.record.model_copy(update={"rejected": joined.rejected})
            mode = mode_of_copy(*((path / "run.json").stat() for path in joined.paths.values()))
            replace(made / "run.json", record.model_dump_json(indent=1) + "\n", mode)
    except OSError as error:
        raise cannot_write(directory, error) from error


def _copy_of(side: Side, file: Path, directory: Path) -> None:
    """A side's file as a run of two engines has it: all windows in one file, latencies from the client, the others by their side."""
    match file.name:
        case "run.json":
            return
        case "windows.jsonl":
            mode = mode_of_copy(file.stat())
            with open(directory / file.name, "ab", opener=partial(os.open, mode=mode)) as windows:
                os.fchmod(windows.fileno(), os.fstat(windows.fileno()).st_mode & mode)
                windows.write(read_regular(file, MOST_WINDOWS_BYTES))
        case "latency.hlog":
            if side == "client":
                copy(file, directory / file.name)
        case "engine.log":
            copy(file, directory / f"engine-{side}.log")
        case other:
            copy(file, directory / f"{side}-{other}")


def on_two_hosts(run: Run) -> bool:
    """Whether a run is both sides of one on two hosts: `record.host` has the facts of each by its side then."""
    engines = run.record.engines
    return len(engines) == 2 and all(engine.plan.hello_wait_ns is not None for engine in engines)


def session(run: Run) -> str | None:
    """What both sides of a run on two hosts have in common, and no other run has; None: there was no handshake."""
    peer = _engine(run).peer
    return peer.session if peer else None


def crossings(run: Run) -> list[Crossing]:
    """The crossings from the client to the server, and back; none of a run that is not both sides of one on two hosts."""
    if not on_two_hosts(run):
        return []
    server, client = run.windows["server"], run.windows["client"]
    return [_crossing("client", client, server), _crossing("server", server, client)]


def _engine(run: Run) -> EngineRecord:
    return run.record.engines[0]


def _ran_alone(run: Run) -> bool:
    return len(run.record.engines) == 1 and _engine(run).plan.hello_wait_ns is not None


def _check(server: Run, client: Run) -> None:
    for run, other in ((server, client), (client, server)):
        if _engine(run).peer is None:
            raise UserError(
                f"{run.path}: no handshake with another host, so {other.path} cannot be joined with it",
                remedy=f"windtunnel show {as_argument(run.path)}",
            )
    if session(server) != session(client):
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
    validities = {"client": client.validity, "server": server.validity}
    return Validity(
        checks=[check for side in SIDES for check in validities[side].checks],
        excluded=[window for side in SIDES for window in validities[side].excluded],
        states=[_of_side(state, side) for side, of in validities.items() for state in of.states],
        headline=HEADLINES.join(f"{of.headline} [{side}]" for side, of in validities.items() if of.headline) or None,
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
