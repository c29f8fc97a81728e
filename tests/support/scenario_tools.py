"""Scenarios for tests: TOML from Python values, hosts made up, files in a directory of the test's own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from windtunnel.engine.find import VARIABLE
from windtunnel.errors import UserError
from windtunnel.host.cpu_topology import alike
from windtunnel.scenario import HostView, OneSide, RunSpec, Scenario, load, resolve

CHECKOUT = Path(__file__).parents[2]
SHIPPED = CHECKOUT / "scenarios"
LENIENT = (
    "validity.max_preempted=1",
    "validity.max_slowdown=1",
    "validity.max_drift=1",
    "validity.max_unsent=1",
    "validity.settle=0s",
)
"""Changes for runs on a machine that has other things to do: what it takes away, and how long it takes to settle, is not what the test is
about."""
ECHO = {"workload": [{"handler": "l_app"}]}


def toml(value: Any) -> str:
    """A TOML value; tables and lists inline, nulls left out."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def text(data: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in data.items() if value is not None)


def written(directory: Path, data: dict[str, Any] | str) -> Path:
    file = directory / "test.toml"
    file.write_text(data if isinstance(data, str) else text(data))
    return file


def loaded(directory: Path, data: dict[str, Any] | str, *sets: str) -> Scenario:
    return load(written(directory, data), list(sets))


def finished(directory: Path, data: dict[str, Any] | str, *sets: str, host: HostView | None = None) -> RunSpec:
    return resolve(loaded(directory, data, *sets), host or machine())


def refused(
    directory: Path, data: dict[str, Any] | str, *sets: str, host: HostView | None = None, side: str | None = None
) -> str:
    """Why a scenario is not planned, and what to do. `side`: the one that is planned alone."""
    with pytest.raises(UserError) as caught:
        resolve(loaded(directory, data, *sets), host or machine(), OneSide(side) if side else None)
    assert caught.value.remedy
    return f"{caught.value.message}; {caught.value.remedy}"


def machine(
    cpus: int = 2,
    hugepages_mib: int = 0,
    root: bool = True,
    interfaces: tuple[str, ...] = ("lo", "wt0"),
    **more: Any,
) -> HostView:
    return HostView(
        cpus=list(range(cpus)),
        topology=alike(range(cpus)),
        hugepages_free_bytes=hugepages_mib << 20,
        hugepages_usable=hugepages_mib > 0,
        root=root,
        interfaces=list(interfaces),
        **more,
    )


def machine_for(name: str, cpus: int = 2) -> HostView:
    """One that a shipped scenario can run on: a NIC cannot do without hugepages."""
    return machine(cpus, hugepages_mib=512 if name == "nic.toml" else 0)


@contextmanager
def engine(binary: str) -> Iterator[None]:
    """Lets the scenario ask this engine for its handlers; a name that does not exist stands for none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, binary)
        yield
