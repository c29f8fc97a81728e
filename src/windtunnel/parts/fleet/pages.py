"""The page docs/reference/fleet.md: the keys of a fleet file."""

from windtunnel.parts.fleet.fleet_file import FleetFile
from windtunnel.schemas.scenario_page import tables

HEAD = """\
# Fleet file keys

<!-- Generated from src/windtunnel/parts/fleet/fleet_file.py by `python -m windtunnel.schemas`. -->

The file that `--on` takes. How to make a fleet: [Run on many hosts](../how-to/fleets.md). Durations carry their unit: `"30s"`.
`--on ADDRESS` is a file with this address and nothing else.
"""


def reference() -> dict[str, str]:
    """Name of a page of docs/reference -> its text."""
    return {"fleet": HEAD + tables(FleetFile)}
