"""Losses: a lost message keeps its place in flight until its timeout."""

from windtunnel import format as fmt
from windtunnel.diagnose.causes.cause import Case, Check, room
from windtunnel.diagnose.model import Gain, Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.scenario.quantities import write

MS = 10**6


def _find(seen: Observed, limit: Limit) -> Case | None:
    lost = sum(row.lost for row in seen.summary.workloads)
    if not lost or not seen.budget:
        return None
    plan = next(plan for plan in seen.plans if any(workload.load for workload in plan.workloads))
    timeout_ns = max(workload.timeout_ns for workload in plan.workloads)
    per_s = lost / (seen.ns_a_message * sum(seen.messages) / 1e9)
    slowest_ns = max((row.latency.maximum or 0 for row in seen.summary.workloads), default=0)
    shorter = -(-2 * slowest_ns // MS) * MS
    sets = [f"workload.{n}.timeout={write('duration', shorter)}" for n, _ in enumerate(plan.workloads)]
    drops = {
        name: count for row in seen.summary.stages for name, count in (row.drops or {}).items() if count
    }  # fmt: skip
    hold = limit.kind in ("in-flight", "tie") or seen.places_of_lost > seen.budget / 2
    named = ", ".join(f"{name} {count:,}" for name, count in drops.items())
    return Case(
        evidence=(
            f"{fmt.rate(per_s)} lost x a timeout of {fmt.duration(timeout_ns)} = {seen.places_of_lost:,.0f} places held by lost messages, of an in-flight limit of "
            f"{seen.budget:,}"
        )
        + (f"; dropped: {named}" if named else ""),
        remedy="remove what drops packets; a shorter timeout frees the places sooner",
        sets=sets if 0 < shorter < timeout_ns else [],
        gain=_freed(seen) if hold else None,
        against=[] if hold else [f"places in flight do not limit: {limit.words}"],
    )


def _freed(seen: Observed) -> Gain:
    """Of the places that lost messages hold: by Little's law the rate rises with the places, until a worker is full."""
    held = min(seen.places_of_lost, float(seen.budget))
    free = seen.budget - held
    return Gain(0.0, min(room(seen).high, 100 * held / free)) if free else room(seen)


CAUSE = Check("losses", "lost messages hold places in flight", _find)
