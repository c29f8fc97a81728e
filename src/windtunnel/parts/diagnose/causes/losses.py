"""Losses: a lost message keeps its place in flight until its timeout."""

from windtunnel import format as fmt
from windtunnel.parts.diagnose.cause import Case, Check, room
from windtunnel.parts.diagnose.model import Gain, Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.scenario.quantities import write

MS = 10**6


def _find(observation: Observation, limit: Limit) -> Case | None:
    lost = sum(row.lost for row in observation.summary.workloads)
    if not lost or not observation.budget:
        return None
    plan = next(plan for plan in observation.plans if any(workload.load for workload in plan.workloads))
    timeout_ns = max(workload.timeout_ns for workload in plan.workloads)
    per_s = lost / (observation.ns_a_message * sum(observation.messages) / 1e9)
    slowest_ns = max((row.latency.maximum or 0 for row in observation.summary.workloads), default=0)
    shorter = -(-2 * slowest_ns // MS) * MS
    sets = [f"workload.{n}.timeout={write('duration', shorter)}" for n, _ in enumerate(plan.workloads)]
    drops = {
        name: count for row in observation.summary.stages for name, count in (row.drops or {}).items() if count
    }  # fmt: skip
    hold = limit.kind in ("in-flight", "tie") or observation.places_of_lost > observation.budget / 2
    drops_text = ", ".join(f"{name} {count:,}" for name, count in drops.items())
    return Case(
        evidence=(
            f"{fmt.rate(per_s)} lost x a timeout of {fmt.duration(timeout_ns)} = {observation.places_of_lost:,.0f} places held by lost messages, of an in-flight limit of "
            f"{observation.budget:,}"
        )
        + (f"; dropped: {drops_text}" if drops_text else ""),
        remedy="remove what drops packets; a shorter timeout frees the places sooner",
        sets=sets if 0 < shorter < timeout_ns else [],
        bound=_freed(observation) if hold else None,
        against=[] if hold else [f"places in flight do not limit: {limit.words}"],
    )


def _freed(observation: Observation) -> Gain:
    """The gain if lost messages free their places: by Little's law the rate rises with the places, until a worker is full."""
    places = min(observation.places_of_lost, float(observation.budget))
    free = observation.budget - places
    return Gain(0.0, min(room(observation).high, 100 * places / free)) if free else room(observation)


CAUSE = Check("losses", "lost messages hold places in flight", _find)
