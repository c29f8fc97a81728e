"""What drives a fleet in a process of its own, which imports Ray once for many commands."""

import time
from collections.abc import Iterable

import in_process
import ray
from scenario_tools import engine

from windtunnel.errors import UserError
from windtunnel.parts.fleet.cluster import RayCluster
from windtunnel.parts.fleet.connection import connected
from windtunnel.parts.fleet.messages import Joined

PATIENCE_S = 180


def command(binary: str, *words: str) -> tuple[int, str]:
    """Exit code of a command on a host with this engine, and all that it said."""
    with engine(binary):
        done = in_process.run(*words)
    if isinstance(done.exception, UserError):
        return 2, f"{done.exception.message}; {done.exception.remedy}"
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def pair_beside_a_single_testbed(address: str, one: str, other: str) -> None:
    """`one` is in use. Who waits for both has none of them: `other` can be had. When both are given back, both join."""
    with connected(address, PATIENCE_S, without_token=False):
        single, pair = RayCluster([one, other], 30), RayCluster([one, other], 30)
        single.invite(one)
        _wait_until_joined(single, [one])
        pair.invite_together([one, other])
        _wait_until_tried()
        single.invite(other)
        _wait_until_joined(single, [other])
        assert pair.events(0) == []
        for name in (one, other):
            single.dismiss(name)
        _wait_until_joined(pair, [one, other])
        pair.dismiss(one)


def _wait_until_joined(cluster: RayCluster, names: Iterable[str]) -> None:
    missing, until = set(names), time.monotonic() + PATIENCE_S
    while missing:
        assert time.monotonic() < until, f"not joined: {missing}"
        for event in cluster.events(1):
            assert isinstance(event, Joined), event
            missing.discard(event.name)


def _wait_until_tried() -> None:
    """The cluster has tried to give the only placement group its testbeds, and could not."""
    until = time.monotonic() + PATIENCE_S
    while True:
        groups = [group for group in ray.util.placement_group_table().values() if group["state"] != "REMOVED"]
        if any(group["stats"]["scheduling_attempt"] for group in groups):
            assert [group["state"] for group in groups] == ["PENDING"]
            return
        assert time.monotonic() < until, groups
        time.sleep(0.02)
