"""Writes docs/reference/fleet.md, the keys of a fleet file. Run: python -m windtunnel.fleet.docs"""

from pathlib import Path

from windtunnel.fleet.keys import FleetFile
from windtunnel.schemas.generate import write
from windtunnel.schemas.scenario_page import tables

HEAD = """\
# Fleet file keys

<!-- Generated from src/windtunnel/fleet/keys.py by `python -m windtunnel.fleet.docs`. -->

The file that `--on` takes. How to make a fleet: [Run on many hosts](../how-to/fleets.md). Durations carry their unit: `"30s"`.
`--on ADDRESS` is a file with this address and nothing else.
"""


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    return {Path("docs/reference/fleet.md"): HEAD + tables(FleetFile)}


if __name__ == "__main__":
    write(generated())
