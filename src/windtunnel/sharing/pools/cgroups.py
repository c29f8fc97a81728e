"""Where the host has its cgroups. v1, v2, both (hybrid: each controller is in one of them), or none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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


def find(proc: Path = Path("/proc/self")) -> Hierarchy | Nowhere:
    """From mounts and cgroup of a process."""
    lines = [line.split() for line in (proc / "mounts").read_text().splitlines()]
    keys = [line.split(":", 2)[1] for line in (proc / "cgroup").read_text().splitlines()]
    for _, where, kind, options, *_ in lines:
        if kind == "cgroup" and CONTROLLER in options.split(","):
            key = next((key for key in keys if CONTROLLER in key.split(",")), CONTROLLER)
            return Hierarchy(1, Path(where), key)
    unified = [Path(where) for _, where, kind, *_ in lines if kind == "cgroup2"]
    if not unified:
        return Nowhere("no cgroup hierarchy is mounted")
    if CONTROLLER in _read(unified[0] / "cgroup.controllers").split():
        return Hierarchy(2, unified[0], "")
    return Nowhere(f"{unified[0]} has no controller cpu")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
