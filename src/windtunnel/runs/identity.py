"""Which runs are of one scenario on one host: what they must have in common to stand side by side."""

from collections.abc import Iterable
from typing import Any

from windtunnel.part_registry import part_modules
from windtunnel.runs.record import Record
from windtunnel.scenario.refusal import dotted

NO_FACTOR = {"title", "seed", "wire.socket"}
"""Keys in which runs of one scenario may differ."""


def identity(record: Record) -> dict[str, str]:
    """What two runs must have in common to be compared, in words: host, software, memory mode, wire, sides."""
    plans = [engine.plan for engine in record.engines]
    sides = sorted({endpoint.side for plan in plans for endpoint in plan.endpoints})
    return {
        "host": " and ".join(map(_named, record.hosts)),
        "kernel": " and ".join(dict.fromkeys(str(host.get("kernel") or "not known") for host in record.hosts)),
        "engine": record.versions.get("engine", "not known"),
        "DPDK": record.versions.get("dpdk", "not known"),
        "memory": record.memory or "not known",
        "wire": record.wire or "not known",
        **{name: text for part in part_modules("identity") for name, text in part.facts(record).items()},
        "sides run": " and ".join(sides) or "none",
        "measured by": record.imported.tool if record.imported else "windtunnel",
        **({"program": record.observed.program} if record.observed else {}),
    }


def _named(host: dict[str, Any]) -> str:
    cpus = host.get("cpus")
    model = cpus.get("model") if isinstance(cpus, dict) else None
    return f"{host.get('hostname') or 'not known'}{f' ({model})' if model else ''}"


def factors(record: Record) -> dict[str, Any]:
    """The resolved scenario by dotted paths, without the keys in which runs of one scenario may differ."""
    return {key: value for key, value in flat(record.scenario).items() if key not in NO_FACTOR}


def flat(table: Any, path: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """A resolved scenario by dotted paths; a list without tables is one value, and what is null is left out."""
    parts: Iterable[tuple[Any, Any]]
    if isinstance(table, dict):
        parts = table.items()
    elif isinstance(table, list) and any(isinstance(part, dict) for part in table):
        parts = enumerate(table)
    else:
        return {} if table is None else {dotted(path): table}
    return {key: value for name, part in parts for key, value in flat(part, (*path, name)).items()}
