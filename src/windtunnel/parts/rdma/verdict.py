"""What is wrong with a run over RDMA."""

from collections.abc import Iterator

from windtunnel.engine.history import History
from windtunnel.engine.lines import Result
from windtunnel.engine.reasons import reason

WRONG = ("wrong pieces read", "wrong bytes written")
"""Names under which a port counts what it was not to find (engine/parts/rdma/places.cc)."""


def unsound(history: History, result: Result) -> Iterator[str]:
    """Operations on the region that moved other bytes than its own."""
    for side, counted in (result.xstats or {}).items():
        for what in WRONG:
            if counted.get(what):
                yield reason("region wrong", f"{counted[what]} {what}, as the {side} found")
