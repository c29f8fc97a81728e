"""The first moves, before a model of the trials knows anything: remedies of a diagnosis, then the moves that common sense makes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.runs import Run
from windtunnel.scenario import Scenario
from windtunnel.scenario.keys import Client
from windtunnel.scenario.overrides import as_changes
from windtunnel.scenario.topology import endpoint


@dataclass(frozen=True)
class Move:
    """Changes that are tried together, on top of the incumbent."""

    changes: Mapping[str, Any]
    """Dotted key -> value."""
    why: str


def remedies(run: Run) -> list[Move]:
    """The moves that a diagnosis of this run suggests, the greatest gain first; none if --set can apply none of its remedies."""
    return [
        Move(as_changes(cause.sets), f"diagnosis: {cause.title}; {cause.remedy}")
        for cause in diagnose(run).causes
        if cause.sets and (cause.gain is None or cause.gain.high > 0)
    ]


def common_sense(scenario: Scenario) -> list[Move]:
    """Moves in the order in which they helped on recorded surfaces (docs/explanation/tune.md), the likeliest first."""
    return [Move(changes, why) for changes, why in _moves(scenario)]


def _moves(scenario: Scenario) -> Iterator[tuple[dict[str, int | bool], str]]:
    yield _batches(scenario, 4), "larger bursts share the cost of a call among more packets"
    yield from _inflight(scenario, 4, "more in flight fills the bursts")
    for n, workload in enumerate(scenario.workload):
        where = (
            "on one worker saves the ring between them"
            if not workload.colocate
            else "on two workers halves the work of each"
        )
        yield {f"workload.{n}.colocate": not workload.colocate}, f"an application and its dispatcher {where}"
        twice = {f"workload.{n}.{key}": 2 * getattr(workload, key) for key in ("apps", "dispatchers")}
        if not workload.groups:
            yield twice, "twice the applications and queues use more cores"
    yield _caches(scenario, 2), "a larger cache of mbufs spares visits to the shared pool"
    yield from _inflight(scenario, 0.25, "less in flight stays in the nearer caches")
    yield _batches(scenario, 0.5), "smaller bursts stay in the nearest cache"


def _inflight(scenario: Scenario, by: float, why: str) -> Iterator[tuple[dict[str, int | bool], str]]:
    if isinstance(client := endpoint(scenario, "client"), Client):
        yield {"client.inflight": int(client.inflight * by)}, why


def _batches(scenario: Scenario, by: float) -> dict[str, int | bool]:
    changes: dict[str, int | bool] = {}
    for side in ("client", "server"):
        keys = endpoint(scenario, side)
        for stage, size in dict(keys.batch).items() if keys else ():
            if (side, stage) != ("server", "app_tx"):
                changes[f"{side}.batch.{stage}"] = max(1, int(size * by))
    return changes


def _caches(scenario: Scenario, by: int) -> dict[str, int | bool]:
    sides = {side: endpoint(scenario, side) for side in ("client", "server")}
    return {f"{side}.mempool.cache": keys.mempool.cache * by for side, keys in sides.items() if keys}
