"""The causes, one file each. A new one is a file with a `CAUSE`, and a line here."""

from windtunnel.diagnose.causes import (
    few_mbufs,
    full_ring,
    generator,
    handler,
    host_state,
    host_time,
    inflight,
    link,
    losses,
    one_worker,
    payload,
    small_batches,
    tables,
)
from windtunnel.diagnose.causes.cause import Check
from windtunnel.diagnose.model import Cause, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.finding import Untold

CAUSES: dict[str, Check] = {
    each.CAUSE.code: each.CAUSE
    for each in (
        handler, tables, small_batches, few_mbufs, full_ring, one_worker, inflight, losses, generator, link, payload, host_time,
        host_state,
    )
}  # fmt: skip
"""By code."""


def look(seen: Observed, limit: Limit) -> tuple[list[Cause], list[str]]:
    """The causes of a run, that with the greatest gain first, those whose gain cannot be told last; and what is untold."""
    found, untold = [], []
    for code, check in CAUSES.items():
        try:
            cause = check.cause(seen, limit)
        except Untold as missing:
            untold.append(f"{code}: {missing}")
            continue
        if cause is not None:
            found.append(cause)
    return sorted(found, key=_rank), untold


def _rank(cause: Cause) -> tuple[bool, float]:
    return cause.gain is None, -(cause.gain.middle if cause.gain else 0.0)


__all__ = ["CAUSES", "look"]
