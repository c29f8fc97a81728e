"""The testbeds of a Ray cluster.

Each testbed that was invited is an actor of this driver. It takes the testbed's resource, of which there is 1, so that a testbed belongs
to one driver at a time, and it waits for its turn without a message. Ray repeats nothing here: a node that falls silent ends no call, and
one that is killed ends its calls seconds before its workers. So `is_there` is called during a run, and who has not replied is lost.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from windtunnel.errors import UserError
from windtunnel.fleet.messages import Event, Joined, Lost, Refused, Replied, Request
from windtunnel.fleet.node import Node

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
    """The call whose end says that it has joined; None: it has."""
    group: Any
    """The placement group of those that were invited together; None: it was invited alone."""
    run: Any = None
    """The call that executes a job; None: it is free."""
    call: Any = None
    """The call that asks whether it is there; None: it has replied to the last one."""
    heard: float = field(default_factory=monotonic)


class RayCluster:
    """Testbeds of a cluster that this process is connected to."""

    def __init__(self, wanted: list[str], silence_s: float):
        """`wanted`: their names; none: all. Raises UserError if a name is not in the cluster, or is there twice."""
        self.names = _names(wanted)
        self._silence_s = silence_s
        self._invited: dict[str, _Invited] = {}

    def invite(self, name: str) -> None:
        if name not in self._invited:
            self._invite(name, {})

    def invite_together(self, names: Sequence[str]) -> None:
        """Asks for testbeds that all join, or none: two drivers never wait for what the other one has."""
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
        for other in [other for other, of in self._invited.items() if of.group and of.group is invited.group]:
            del self._invited[other]

    def start(self, name: str, request: Request) -> None:
        invited = self._invited[name]
        invited.run, invited.call, invited.heard = invited.actor.execute.remote(request), None, monotonic()

    def stop(self, name: str) -> None:
        self._invited[name].actor.stop.remote()

    def events(self, timeout_s: float) -> list[Event]:
        try:
            self._ask()
            calls = {call: name for name, of in self._invited.items() for call in (of.about, of.run, of.call) if call}
            ready, _ = ray.wait(list(calls), num_returns=1, timeout=timeout_s) if calls else ([], [])
            events = [self._ended(calls[call], call) for call in ready]
        except ConnectionError as error:
            raise UserError(
                f"the connection to the Ray cluster is lost: {_first_line(error)}",
                remedy="what is finished is kept: go on with the same command when the cluster is there",
            ) from None
        return [event for event in (*events, *self._silent()) if event is not None]

    def _ask(self) -> None:
        for of in self._invited.values():
            if of.run and not of.call and monotonic() - of.heard > self._silence_s / CALLS_IN_A_SILENCE:
                of.call = of.actor.is_there.remote()

    def _ended(self, name: str, call: Any) -> Event | None:
        of = self._invited[name]
        try:
            value = ray.get(call, timeout=self._silence_s)
        except RayError as error:
            return None if call == of.call and of.run else Lost(name, _words(error))
        of.heard = monotonic()
        if call == of.run:
            of.run = of.call = None
            return Replied(name, value)
        if call != of.about:
            of.call = None
            return None
        of.about = None
        if isinstance(value, Refused):
            return Lost(name, f"{value.message}; {value.remedy}" if value.remedy else value.message)
        return Joined(name, value)

    def _silent(self) -> list[Event]:
        late = [n for n, of in self._invited.items() if of.run and monotonic() - of.heard > self._silence_s]
        return [Lost(name, f"silent for {self._silence_s:g} s") for name in late]


def _names(wanted: list[str]) -> list[str]:
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
    if unknown := next((name for name in wanted if name not in counts), None):
        raise UserError(
            f"testbed {unknown}: no node of the Ray cluster has it",
            remedy=f"{HOW}; there {'is' if len(counts) == 1 else 'are'} {', '.join(sorted(counts))}",
        )
    return wanted or sorted(counts)


def _words(error: RayError) -> str:
    """Ray's words, as far as they are for people."""
    text = str(error)
    if "ModuleNotFoundError" in text:
        return f"{text.rpartition('ModuleNotFoundError: ')[2].splitlines()[0]}: install windtunnel there"
    return _first_line(error)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
