"""The command line's work as Python calls. `windtunnel` exports them.

Bad input raises UserError with the words of the command line. Ctrl-C lands a flight as it does there, where the call is
made from the main thread.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windtunnel.engine.interrupts import Interrupts
from windtunnel.measure.flight import fly, new_directory
from windtunnel.runs import Run
from windtunnel.scenario import here, load, resolve
from windtunnel.scenario.overrides import as_sets


def run(
    scenario: str | Path, sets: Mapping[str, Any] | None = None, *, out: str | Path | None = None, report: bool = False
) -> Run:
    """Fly a scenario and read back what it left; an invalid run is returned with the reasons in `run.record.verdict`.

    `sets` changes keys as --set does: {"client.inflight": 64, "duration": "2s"}. `out` is the run directory, new; without it
    one below runs/. `report` writes report.html too. Raises UserError for bad input, and where nothing could be kept.
    """
    file = Path(scenario)
    flight = resolve(load(file, as_sets(sets or {})), here())
    with Interrupts() as interrupts:
        landing = fly(flight, Path(out) if out else new_directory(file.stem), interrupts)
    if landing.run is None:
        raise landing.unkept
    if report:
        from windtunnel.report import write

        write(landing.run.path)
    return landing.run
