"""The testbeds of a Ray cluster.

Each invited testbed is an actor of this driver. It takes the testbed's resource, of which there is 1, so that a testbed belongs to one
driver at a time, and it waits for its turn without a message. Ray retries nothing here: a node that becomes silent ends no call, and a
killed one ends its calls seconds before its workers. So `is_there` is called during a run, and a testbed that does not reply is lost.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from windtunnel.errors import UserError
from windtunnel.parts.fleet.messages import Event, Joined, Lost, Refused, Replied, Request
from windtunnel.parts.fleet.node import Node

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray reads it when it is imported

import ray
from ray.exceptions import RayError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

RESOURCE = "testbed:"
"""Prefix of a node's resource, before the name of the testbed."""
HOW = "ray start --address=HEAD:6379 --resources='{\"testbed:NAME\": 1}' on its node"
CALLS_IN_A_SILENCE = 3


@dataclass
class _Invited:
    """A testbed as this driver knows it."""

    actor: Any
    about: Any
    """The call that ends once it has joined; None: it has joined."""
    group: Any
    """The placement group of testbeds that were invited together; None: it was invited alone."""
    run: Any = None
    """The call that executes a job; None: it is free."""
    call: Any = None
    """The call that checks whether it is there; None: it has replied to the last one."""
    replied_at: float = field(default_factory=monotonic)


class RayCluster:
    """Testbeds of the cluster to which this process is connected."""

    def __init__(self, names: list[str], silence_s: float):
        """`names`: those of the testbeds; empty: all. Raises UserError if a name is not in the cluster, or is there twice."""
        self.names = _names(names)
        self._silence_s = silence_s
        self._invited: dict[str, _Invited] = {}

    def invite(self, name: str) -> None:
        if name not in self._invited:
            self._invite(name, {})

    def invite_together(self, names: Sequence[str]) -> None:
        """Invites testbeds of which all join or none: so two drivers cannot deadlock."""
        if self._invited.keys().isdisjoint(names):
            group = placement_group([{f"{RESOURCE}{name}": 1} for name in names], strategy="SPREAD")
            for place, name in enumerate(names):
                strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place)
                self._invite(name, {"scheduling_strategy": strategy}, group)

    def _invite(self, name: str, more: dict[str, Any], group: Any = None) -> None:
        options = {"num_cpus": 0, "resources": {f"{RESOURCE}{name}": 1}, "max_restarts": 0, "max_concurrency": 2}
        actor: Any = ray.remote(Node).options(**options, **more).remote()
        self._invited[name] = _Invited(actor, actor.about.remote(), group)

    def dismiss(self, name: str) -> None:
        """Dismisses the testbed with all that were invited together with it."""
        if (invited := self._invited.pop(name, None)) is None:
            return
        with contextlib.suppress(RayError, ConnectionError, ValueError):  # it may be gone already
            if invited.group is None:
                ray.kill(invited.actor)
            else:
                remove_placement_group(invited.group)  # ends the actors in it
        for other_name in [
            other_name for other_name, other in self._invited.items() if other.group and other.group is invited.group
        ]:
            del self._invited[other_name]

    def start(self, name: str, request: Request) -> None:
        invited = self._invited[name]
        invited.run, invited.call, invited.replied_at = invited.actor.execute.remote(request), None, monotonic()

    def stop(self, name: str) -> None:
        self._invited[name].actor.stop.remote()

    def events(self, timeout_s: float) -> list[Event]:
        try:
            self._check_alive()
            calls = {
                call: name
                for name, invited in self._invited.items()
                for call in (invited.about, invited.run, invited.call)
                if call
            }
            ready, _ = ray.wait(list(calls), num_returns=1, timeout=timeout_s) if calls else ([], [])
            events = [self._ended(calls[call], call) for call in ready]
        except ConnectionError as error:
            raise UserError(
                f"the connection to the Ray cluster is lost: {_first_line(error)}",
                remedy="what is finished is kept: go on with the same command when the cluster is there",
            ) from None
        return [event for event in (*events, *self._silent()) if event is not None]

    def _check_alive(self) -> None:
        for invited in self._invited.values():
            if (
                invited.run
                and not invited.call
                and monotonic() - invited.replied_at > self._silence_s / CALLS_IN_A_SILENCE
            ):
                invited.call = invited.actor.is_there.remote()

    def _ended(self, name: str, call: Any) -> Event | None:
        invited = self._invited[name]
        try:
            value = ray.get(call, timeout=self._silence_s)
        except RayError as error:
            return None if call == invited.call and invited.run else Lost(name, _reason_text(error))
        invited.replied_at = monotonic()
        if call == invited.run:
            invited.run = invited.call = None
            return Replied(name, value)
        if call != invited.about:
            invited.call = None
            return None
        invited.about = None
        if isinstance(value, Refused):
            return Lost(name, f"{value.message}; {value.remedy}" if value.remedy else value.message)
        return Joined(name, value)

    def _silent(self) -> list[Event]:
        late = [
            n
            for n, invited in self._invited.items()
            if invited.run and monotonic() - invited.replied_at > self._silence_s
        ]
        return [Lost(name, f"silent for {self._silence_s:g} s") for name in late]


def _names(requested: list[str]) -> list[str]:
    counts: Counter[str] = Counter()
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        for resource, amount in node["Resources"].items() if node["Alive"] else ():
            if resource.startswith(RESOURCE):
                name = resource.removeprefix(RESOURCE)
                counts[name] += 1
                if amount != 1:
                    raise UserError(f"testbed {name}: its resource is {amount:g}, and not 1", remedy=HOW)
    if twice := next((name for name, times in counts.items() if times > 1), None):
        raise UserError(f"testbed {twice}: two nodes have this name", remedy="a name of its own for each node")
    if not counts:
        raise UserError("no node of the Ray cluster has a testbed", remedy=HOW)
    if unknown := next((name for name in requested if name not in counts), None):
        raise UserError(
            f"testbed {unknown}: no node of the Ray cluster has it",
            remedy=f"{HOW}; there {'is' if len(counts) == 1 else 'are'} {', '.join(sorted(counts))}",
        )
    return requested or sorted(counts)


def _reason_text(error: RayError) -> str:
    """The part of Ray's message that helps a user."""
    text = str(error)
    if "ModuleNotFoundError" in text:
        return f"{text.rpartition('ModuleNotFoundError: ')[2].splitlines()[0]}: install windtunnel there"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
