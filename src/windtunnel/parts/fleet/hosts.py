"""Whether a testbed has the same software as the driver, and whether two testbeds are alike."""

import hashlib
from pathlib import Path
from typing import Any

import windtunnel
from windtunnel.host.facts import Facts
from windtunnel.measure.study import record
from windtunnel.parts.fleet.messages import About

PACKAGE = Path(windtunnel.__file__).parent


def software() -> dict[str, str]:
    """Versions and digests of the software that measures on this host. Raises UserError if there is no engine."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(file.relative_to(PACKAGE)).encode() + file.read_bytes())
    return {**record.versions(), "windtunnel sha256": digest.hexdigest()}


def other_software(own_versions: dict[str, str], about: About) -> str | None:
    """The first difference between this host's software and a testbed's, as text; None: there is none."""
    if about.server and (differs := other_software(own_versions, about.server)):
        return differs
    testbed_versions = about.software
    name = next((name for name in own_versions if own_versions[name] != testbed_versions.get(name)), None)
    if name is None:
        return None
    ours, theirs = own_versions[name], testbed_versions.get(name, "none")
    length = 12 if name.endswith("sha256") else len(theirs)
    return f"{name} is {theirs[:length]} there and {ours[: length or None]} here"


def unlike(a: About, b: About) -> str | None:
    """The first difference because of which two testbeds are not comparable, as text; None: they are alike. Cabled ones are compared server with
    server and client with client."""
    if a.server and b.server and (differs := unlike(a.server, b.server)):
        return differs
    ours, theirs = _relevant_facts(a.facts), _relevant_facts(b.facts)
    name = next((name for name in ours if ours[name] != theirs[name]), None)
    return None if name is None else f"{name}: {ours[name]} and {theirs[name]}"


def _relevant_facts(facts: Facts) -> dict[str, Any]:
    return {
        "system": facts.system,
        "kernel": facts.kernel,
        "architecture": facts.architecture,
        "CPU": facts.cpus.model,
        "CPUs that may be used": len(facts.cpus.allowed),
        "isolated CPUs": len(set(facts.cpus.isolated) & set(facts.cpus.allowed)),
        "frequency governors": facts.cpus.governors,
        "turbo": facts.cpus.turbo,
        "runs as root": facts.root,
        "usable hugepages": facts.memory.hugepages.usable,
    }
