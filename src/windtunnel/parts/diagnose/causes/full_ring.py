"""A full ring: what comes before it stalls, although the worker behind it has slack on average; or it is shorter than a batch."""

from windtunnel.measure.validity import Slack
from windtunnel.parts.diagnose.cause import Case, Check, room
from windtunnel.parts.diagnose.causes.batches import USUAL, cost_of_loops, small_batches
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.runs.rows import StageRow

BEFORE_A_RING = ("disp_rx", "app_rx", "app_tx")
MOST = 1 << 20


def _find(observation: Observation, limit: Limit) -> Case | None:
    short = (case for slack in observation.of_limit(limit) if (case := _short(observation, slack)))
    return next(short, None) or _full(observation, limit)


def _short(observation: Observation, slack: Slack) -> Case | None:
    """A loop of the worker that limits moves no more than a ring holds."""
    for stage, moved in small_batches(observation, slack).items():
        side, name = stage.split()
        endpoint = observation.endpoint(side)
        if moved < int(getattr(endpoint.batch, name)):
            size, loops = max(2 * USUAL, 2 * endpoint.ring_size), cost_of_loops(observation, slack, moved)
            return Case(
                evidence=(
                    f"most calls of {stage} that move something move {moved}, all that its ring holds, so a loop of its worker moves few: "
                    f"{loops.sentence}"
                ),
                remedy=f"a ring of {size:,} entries, longer than a batch",
                sets=[f"{side}.ring_size={size}"],
                reliefs=(loops.relief,),
                not_measured=loops.not_measured,
            )
    return None


def _full(observation: Observation, limit: Limit) -> Case | None:
    rings = [ring for windows in observation.windows.values() for window in windows for ring in window.rings]
    fullest = max(rings, key=lambda ring: ring.used / ring.size, default=None)
    if fullest is None:
        return None
    side = fullest.name.split()[0]
    calls_by_stage = {
        row.stage: calls for row in observation.summary.stages if row.endpoint == side and (calls := _stalled(row))
    }
    limiting = {slack.sides for slack in observation.of_limit(limit)}
    if not calls_by_stage or side in limiting or "client + server" in limiting:
        return None  # the worker behind it is slower: a longer ring would fill as well
    size = 2 * observation.endpoint(side).ring_size
    stalled = ", ".join(f"{side} {stage} stalled in {calls:,} calls" for stage, calls in calls_by_stage.items())
    return Case(
        evidence=f"{stalled}; {fullest.name} had up to {fullest.used:,} of {fullest.size:,} entries in use at the end of a window",
        remedy=f"a ring of {size:,} entries",
        sets=[f"{side}.ring_size={size}"] if size <= MOST else [],
        bound=room(observation),
        not_measured=["how full rings were within a window: they are seen at its end"],
    )


def _stalled(row: StageRow) -> int | None:
    """Calls that found no room in a ring; in an older record, all that stalled."""
    if row.stage not in BEFORE_A_RING:
        return None
    for_ring = (row.counters or {}).get("stalled_for_ring")
    return row.stalled_calls if for_ring is None else for_ring


CAUSE = Check("full-ring", "a ring is full at times", _find)
