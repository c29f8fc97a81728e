"""What the tests of sharing have in common: programs that they need, and short loads."""

import os
from pathlib import Path

import pytest
from pvcc.client import Client, ClientPlan, ClientResult, Phase, Target
from pvcc.kept_process import ROOM
from pvcc.servers import Server, find_server

from windtunnel.errors import UserError
from windtunnel_sharing.native import find_native


def needs_native(*names: str) -> None:
    """Skips in words where the native programs are not built."""
    try:
        for name in names:
            find_native(f"windtunnel-{name}", "sharing/slicers" if name in ("slicer", "tenant") else ROOM)
    except UserError as error:
        pytest.skip(f"{error.message} ({error.remedy})")


def needs_server(kind: str) -> None:
    try:
        find_server(kind)
    except UserError as error:
        pytest.skip(f"{error.message} ({error.remedy})")


def plan_for(server: Server, *, per_s: float = 1000, seconds: float = 0.2, patience_s: float = 5, **how) -> ClientPlan:
    """A short load on one server, from the last CPU."""
    of_server = {
        "name": server.name,
        "protocol": server.profile.protocol,
        "port": server.port,
        "load_keys": server.kind != "nginx",
        "keys": server.content.keys,
        "value": server.content.value,
        "phases": [Phase(name="measure", duration_ns=round(seconds * 1e9), per_s=per_s)],
    }
    cpu = max(os.sched_getaffinity(0))
    return ClientPlan(cpu=cpu, tenant_cpus=[], patience_ns=round(patience_s * 1e9), targets=[Target(**of_server | how)])


def load(server: Server, directory: Path, **how) -> ClientResult:
    """What the client finds under such a load."""
    with Client(plan_for(server, **how), directory) as client:
        return client.result()
