"""The host that a result was made on, as every page ends with it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.results.document import Block, Facts, Fold, Listing, Section

_FACTS = (
    ("Host", "hostname"),
    ("System", "system"),
    ("Kernel", "kernel"),
    ("Processor", "cpus.model"),
    ("CPUs allowed", "cpus.allowed"),
    ("CPUs isolated", "cpus.isolated"),
    ("Virtual machine", "cpus.virtual"),
    ("Clock source", "cpus.tsc.clocksource"),
)


def host_section(
    host: Mapping[str, Any],
    versions: Mapping[str, str],
    rows: Sequence[tuple[str, str]] = (),
    folds: Sequence[Block] = (),
) -> Section:
    """Facts and versions; `rows` and `folds` are what a document adds."""
    facts = [*host_facts(host), *versions.items(), *rows]
    return Section(
        "Host and versions" if versions else "Host",
        [Facts(facts), *folds, Fold("All facts about the host", [Listing(pretty(host))])],
        terminal="absent",
    )


def host_facts(host: Mapping[str, Any], of: str = "") -> list[tuple[str, str]]:
    """The facts that a reader looks for first; a null is "not available", an absent fact is skipped. `of`: a part of each label."""
    rows = []
    for label, path in _FACTS:
        value, present = _at(host, path)
        if present:
            rows.append((f"{label}{of}", _words(value)))
    return rows


def pretty(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _at(facts: Mapping[str, Any], path: str) -> tuple[object, bool]:
    value: object = facts
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None, False
        value = value[key]
    return value, True


def _words(value: object) -> str:
    if value is None:
        return "not available"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)
