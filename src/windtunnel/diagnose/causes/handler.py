"""The handler: the stage that calls it takes most of the limiting worker's time."""

from windtunnel import format as fmt
from windtunnel.diagnose.causes.cause import Case, Check, gain
from windtunnel.diagnose.model import Limit
from windtunnel.diagnose.observed import Observed
from windtunnel.stats.mean import Estimate


def _find(seen: Observed, limit: Limit) -> Case | None:
    slack = next((slack for slack in seen.of_limit(limit) if "server" in slack.sides), None)
    if slack is None:
        return None
    stages = list(seen.stages_of(slack.engine, slack.worker).items())
    names = _handlers(seen)
    (stage, share), *others = stages
    if stage not in names:
        return None
    work = seen.account(slack).work(stage)
    evidence = (
        f"{stage} calls {names[stage]} and takes {work.mean:.1f} ns per message, {share:.0%} of its worker's work"
    )
    if others:
        evidence += f"; the next stage, {others[0][0]}, takes {others[0][1]:.0%}"
    steps = [
        row for row in seen.summary.steps if f"{row.endpoint} {row.stage}" == stage and row.stage_ns and not row.copier
    ]
    if steps:
        evidence += f"; of its steps {', '.join(f'{row.step} {fmt.number(row.stage_ns)} ns' for row in steps)}"
    half = Estimate(work.mean / 2, work.low and work.low / 2, work.high and work.high / 2)
    return Case(
        evidence=evidence,
        remedy="make the handler cheaper; the gain is that of one whose stage takes half as long",
        gain=gain(seen, slack, half),
        not_measured=[] if steps else ["how much of the stage is the handler: it has no steps of its own"],
    )


def _handlers(seen: Observed) -> dict[str, str]:
    """Stage -> the handlers that it calls."""
    found: dict[str, str] = {}
    for plan in seen.plans:
        for workload in plan.workloads:
            for stage, handler in (("app_rx", workload.handler), ("disp_rx", workload.packet_handler)):
                if handler:
                    name = f"server {stage}"
                    found[name] = f"{found[name]} and {handler.name}" if name in found else handler.name
    return found


CAUSE = Check("handler", "the handler takes most of the time", _find)
