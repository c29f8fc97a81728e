"""Programs that a scenario chooses for a P4 pipeline."""

from windtunnel.scenario.keys import Workload

COMPILERS = ("gcc", "clang")
"""Compilers that are no program of a scenario's choice."""


def code(workload: Workload) -> list[str]:
    """The compilers that options of handlers name, without the known ones: they run when a handler is opened."""
    compilers = [options.get("compiler") or "gcc" for options in (workload.options, workload.packet_options)]
    return [str(compiler) for compiler in compilers if compiler not in COMPILERS]
