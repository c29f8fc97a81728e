"""Copiers that are code of a scenario's own."""

from windtunnel.parts.copies.copiers import named_copiers
from windtunnel.parts.copies.keys import copies_keys
from windtunnel.scenario.keys import Workload
from windtunnel.scenario.plugins import is_plugin


def code(workload: Workload) -> list[str]:
    """The files that a workload names as copiers."""
    copies = copies_keys(workload)
    return [name for name in named_copiers(copies) if is_plugin(name)] if copies else []
