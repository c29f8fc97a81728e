"""Whether a testbed has the same software as the driver, and whether two testbeds are alike."""

import hashlib
from pathlib import Path
from typing import Any

from windtunnel.fleet.messages import About
from windtunnel.host.facts import Facts
from windtunnel.measure.study import record

PACKAGE = Path(__file__).parents[1]


def software() -> dict[str, str]:
    """Versions and digests of what measures on this host. Raises UserError if there is no engine."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(file.relative_to(PACKAGE)).encode() + file.read_bytes())
    return {**record.versions(), "windtunnel sha256": digest.hexdigest()}


def other_software(here: dict[str, str], about: About) -> str | None:
    """What differs first, in words; None: nothing does."""
    if about.server and (differs := other_software(here, about.server)):
        return differs
    there = about.software
    name = next((name for name in here if here[name] != there.get(name)), None)
    if name is None:
        return None
    ours, theirs = here[name], there.get(name, "none")
    length = 12 if name.endswith("sha256") else len(theirs)
    return f"{name} is {theirs[:length]} there and {ours[: length or None]} here"


def unlike(a: About, b: About) -> str | None:
    """What makes numbers of one testbed no numbers of the other, in words; None: they are alike. Of cabled ones, servers are held against
    servers and clients against clients."""
    if a.server and b.server and (differs := unlike(a.server, b.server)):
        return differs
    ours, theirs = _what_counts(a.facts), _what_counts(b.facts)
    name = next((name for name in ours if ours[name] != theirs[name]), None)
    return None if name is None else f"{name}: {ours[name]} and {theirs[name]}"


def _what_counts(of: Facts) -> dict[str, Any]:
    return {
        "system": of.system,
        "kernel": of.kernel,
        "architecture": of.architecture,
        "CPU": of.cpus.model,
        "CPUs that may be used": len(of.cpus.allowed),
        "isolated CPUs": len(set(of.cpus.isolated) & set(of.cpus.allowed)),
        "frequency governors": of.cpus.governors,
        "turbo": of.cpus.turbo,
        "runs as root": of.root,
        "usable hugepages": of.memory.hugepages.usable,
    }
