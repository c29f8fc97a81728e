"""The page of keys of `windtunnel share serve`, docs/serve.md, as Markdown."""

from windtunnel.scenario.page import tables
from windtunnel.sharing.daemon.keys import Serve

HEAD = """\
# The keys of `windtunnel share serve`

<!-- Generated from src/windtunnel/sharing/daemon/keys.py by `python -m windtunnel.scenario.schemas`. -->

What they mean together: [sharing.md](sharing.md). Durations carry their unit: `"100us"`.
"""


def page() -> str:
    return HEAD + tables(Serve)
