"""Writes docs/reference/serve.md, the keys of `windtunnel share serve`. Run: python -m windtunnel.sharing.docs"""

from pathlib import Path

from windtunnel.schemas.generate import write
from windtunnel.schemas.scenario_page import tables
from windtunnel.sharing.daemon.keys import Serve

HEAD = """\
# Share daemon keys

<!-- Generated from src/windtunnel/sharing/daemon/keys.py by `python -m windtunnel.sharing.docs`. -->

The file of `windtunnel share serve`. How the keys work together: [Sharing](sharing.md#daemon). Durations carry their unit: `"100us"`.
"""


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    return {Path("docs/reference/serve.md"): HEAD + tables(Serve)}


if __name__ == "__main__":
    write(generated())
