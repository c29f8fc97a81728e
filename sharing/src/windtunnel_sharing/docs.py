"""Writes docs/reference/serve.md, the keys of `windtunnel share serve`. Run: python -m windtunnel_sharing.docs"""

from pathlib import Path

from windtunnel.api.reference import tables, write
from windtunnel_sharing.daemon.keys import Serve

HEAD = """\
# Share daemon keys

<!-- Generated from sharing/src/windtunnel_sharing/daemon/keys.py by `python -m windtunnel_sharing.docs`. -->

The file of `windtunnel share serve`. How the keys work together: [Sharing](sharing.md#daemon). Durations carry their unit: `"100us"`.
"""


def generated() -> dict[Path, str]:
    """Path in the checkout -> content."""
    return {Path("docs/reference/serve.md"): HEAD + tables(Serve)}


if __name__ == "__main__":
    write(generated())
