"""Where the host has its cgroups. v1, v2, both (hybrid: each controller is in one of them), or none."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from windtunnel_sharing import threads

CONTROLLER = "cpu"


@dataclass(frozen=True)
class Hierarchy:
    """The hierarchy that has the controller `cpu`."""

    version: Literal[1, 2]
    mount: Path
    key: str
    """As /proc/PID/cgroup calls it: its controllers, "" for v2."""


@dataclass(frozen=True)
class Nowhere:
    """No cgroups to be had, and why."""

    why: str


def find(proc: Path = threads.PROC / "self") -> Hierarchy | Nowhere:
    """From mounts and cgroup of a process."""
    mounted = threads.mounts(proc)
    for key, mount in mounted.items():
        if CONTROLLER in key.split(","):
            return Hierarchy(1, mount, key)
    if "" not in mounted:
        return Nowhere("no cgroup hierarchy is mounted")
    with contextlib.suppress(OSError):
        if CONTROLLER in (mounted[""] / "cgroup.controllers").read_text().split():
            return Hierarchy(2, mounted[""], "")
    return Nowhere(f"{mounted['']} has no controller cpu")
