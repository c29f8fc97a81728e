"""Look-ups in match-action tables take most of the limiting worker's time."""

from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.tables.pipeline import METHODS
from windtunnel.stats.mean import Estimate

FASTER: dict[str, str] = {other: usual for usual, *others in METHODS.values() for other in others}
"""Method of a table -> the usual one of its kind, which needs fewer accesses to memory."""


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next((slack for slack in observation.of_limit(limit) if "server" in slack.sides), None)
    rows = [
        (row.stage_ns, row)
        for row in observation.summary.steps
        if not row.traffic and row.stage == "disp_rx" and row.stage_ns
    ]
    if slack is None or not rows:
        return None
    account = observation.account(slack)
    work = account.work("server disp_rx")
    ns, first = max(rows, key=lambda timed: timed[0])
    share = first.share or 0.0
    place, table = next(
        (
            (place, table)
            for place, table in enumerate(_tables(observation))
            if first.step.startswith(_name(table, place))
        ),
        (None, {}),
    )
    if place is None:
        return None
    sets = []
    if table.get("lookup") == "single":
        sets.append(f"workload.0.table.{place}.lookup=bulk")
    if faster := FASTER.get(str(table.get("method"))):
        sets.append(f"workload.0.table.{place}.method={faster}")
    saved = Estimate(work.mean * share / 2, 0.0, (work.high or work.mean) * share)
    return Case(
        evidence=f"{first.step} takes {ns:.1f} ns per packet, {share:.0%} of the work of server disp_rx",
        remedy="a table that needs fewer accesses to memory: looked up in bulk, with fewer entries, or by another method",
        sets=sets,
        reliefs=(Relief(slack, saved),),
        not_measured=["cache misses: no counter of this run has them"],
    )


def _tables(observation: Observation) -> list[dict[str, object]]:
    workloads = observation.run.record.scenario.get("workload") or []
    return list((workloads[0].get("table") or []) if workloads else [])


def _name(table: dict[str, object], place: int) -> str:
    return str(table.get("name") or f"{table.get('kind')}{place}")


CAUSES = (Check("tables", "look-ups take most of the time", _find),)
