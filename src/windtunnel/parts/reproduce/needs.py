"""What a claim needs of a host, and whether it is here."""

import os
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from windtunnel.engine.find import CHECKOUT, is_checkout


def missing(needs: Sequence[str]) -> list[str]:
    """What the host lacks of these; empty: all is here."""
    lacking = []
    for need in needs:
        name, _, count = need.partition(":")
        if lack := NEEDS[name](int(count or 0)):
            lacking.append(lack)
    return lacking


def _cpus(count: int) -> str | None:
    here = len(os.sched_getaffinity(0))
    return None if here >= count else f"{count} CPUs, and this process may use {here}"


def _hardware_counters(_: int) -> str | None:
    return None if any(Path("/sys/bus/event_source/devices").glob("cpu*")) else "hardware counters of the CPU (a PMU)"


def _rdma(_: int) -> str | None:
    return None if any(Path("/sys/class/infiniband").glob("*")) else "an RDMA device (rdma_rxe counts)"


def _dsa(_: int) -> str | None:
    return None if any(Path("/sys/bus/dsa/devices").glob("dsa*")) else "a DSA device"


def _program(name: str) -> Callable[[int], str | None]:
    return lambda _: None if shutil.which(name) else f"the program {name}"


def _sources(_: int) -> str | None:
    return (
        None
        if is_checkout() and (CHECKOUT / "studies").is_dir()
        else "a checkout of the sources, which has the studies"
    )


def _sharing(_: int) -> str | None:
    return None if find_spec("windtunnel_sharing") else "the distribution windtunnel-sharing"


def _nobody(what: str) -> Callable[[int], str | None]:
    return lambda _: what


NEEDS: dict[str, Callable[[int], str | None]] = {
    "cpus": _cpus,
    "counters": _hardware_counters,
    "rdma": _rdma,
    "dsa": _dsa,
    "tshark": _program("tshark"),
    "qemu": _program("qemu-system-x86_64"),
    "sources": _sources,
    "sharing": _sharing,
    "nic": _nobody("a NIC of 100 Gbit/s, with which this was not tried"),
}
"""Name of a need -> what is missing, for the number behind its colon ("cpus:4" alone has one); None: it is here."""
