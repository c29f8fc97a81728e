"""The handler: the stage that calls it takes most of the limiting worker's time."""

from windtunnel import format as fmt
from windtunnel.parts.diagnose.cause import Case, Check, Relief
from windtunnel.parts.diagnose.model import Limit
from windtunnel.parts.diagnose.observation import Observation
from windtunnel.parts.diagnose.own_time import costly_stage
from windtunnel.stats.mean import Estimate


def _find(observation: Observation, limit: Limit) -> Case | None:
    slack = next((slack for slack in observation.of_limit(limit) if "server" in slack.sides), None)
    if slack is None:
        return None
    (stage, share), *others = observation.stages_of(slack.engine, slack.worker).items()
    names, costly = handlers(observation), costly_stage(observation, slack)
    if costly:
        stage, work = costly
        of_what = "in calls most of which are longer than accounting.interrupted_above"
    else:
        work = observation.account(slack).work(stage)
        of_what = f"{share:.0%} of its worker's work"
        of_what += f"; the next stage, {others[0][0]}, takes {others[0][1]:.0%}" if others else ""
    if stage not in names:
        return None
    evidence = f"{stage} calls {names[stage]} and takes {work.mean:.1f} ns per message, {of_what}"
    steps = [
        row
        for row in observation.summary.steps
        if f"{row.endpoint} {row.stage}" == stage and row.stage_ns and not row.copier
    ]
    if steps:
        evidence += f"; of its steps {', '.join(f'{row.step} {fmt.number(row.stage_ns)} ns' for row in steps)}"
    half = Estimate(work.mean / 2, work.low and work.low / 2, work.high and work.high / 2)
    return Case(
        evidence=evidence,
        remedy="make the handler cheaper; the gain is that of one whose stage takes half as long",
        reliefs=(Relief(slack, half),),
        not_measured=[] if steps else ["how much of the stage is the handler: it has no steps of its own"],
    )


def handlers(observation: Observation) -> dict[str, str]:
    """Stage -> the handlers that it calls."""
    handlers: dict[str, str] = {}
    for plan in observation.plans:
        for workload in plan.workloads:
            for stage, handler in (("app_rx", workload.handler), ("disp_rx", workload.packet_handler)):
                if handler:
                    name = f"server {stage}"
                    handlers[name] = f"{handlers[name]} and {handler.name}" if name in handlers else handler.name
    return handlers


CAUSE = Check("handler", "the handler takes most of the time", _find)
