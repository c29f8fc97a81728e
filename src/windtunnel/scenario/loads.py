"""What a client offers: one rate, bursts, or a list of phases, in the plan's words."""

import itertools

from windtunnel.engine import plan as plans
from windtunnel.engine.plan_values import Arrivals
from windtunnel.scenario.keys import Client, Scenario, Workload
from windtunnel.scenario.quantities import write
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import rates
from windtunnel.scenario.traffic_keys import LoadPhase


def plan_load(scenario: Scenario, client: Client, index: int) -> plans.Load:
    """The load of one workload. Phases are those of the measurement: the warm-up runs under the load of the first."""
    workload, rate = scenario.workload[index], rates(scenario, client)[index]
    if rate is None:
        return plans.Load(mode="closed", phases=[], lead=0)
    if not workload.phase:
        one_side = _phase(client, None, rate, None, workload)
        return plans.Load(mode="open", phases=[one_side], lead=0)
    phases = [_phase(client, p.duration, p.rate, p.arrivals, p) for p in workload.phase]
    if scenario.warmup == 0:
        return plans.Load(mode="open", phases=phases, lead=0)
    return plans.Load(
        mode="open", phases=[phases[0].model_copy(update={"length_ns": scenario.warmup}), *phases], lead=1
    )


def _phase(
    client: Client, length: int | None, rate: float, arrivals: Arrivals | None, bursts: Workload | LoadPhase
) -> plans.LoadPhase:
    return plans.LoadPhase(
        length_ns=length, rate_per_s=rate, arrivals=arrivals or client.arrivals, on_ns=bursts.on, off_ns=bursts.off
    )


def check_load(scenario: Scenario, client: Client, index: int) -> None:
    """Raises Refusal for bursts that lack a part, and for phases that hold no message."""
    workload, here = scenario.workload[index], ("workload", index)
    places: list[tuple[Path, Workload | LoadPhase]] = [(here, workload)]
    places += [((*here, "phase", p), phase) for p, phase in enumerate(workload.phase)]
    for place, bursts in places:
        if (bursts.on is None) != (bursts.off is None):
            given = "on" if bursts.off is None else "off"
            raise Refusal((*place, given), f"{given} without {'off' if given == 'on' else 'on'}", "both, for bursts")
    if workload.on is not None and (workload.phase or rates(scenario, client)[index] is None):
        what = "cannot be combined with phases" if workload.phase else "has no effect in a closed loop"
        raise Refusal((*here, "on"), f"on {what}", "on and off in each phase" if workload.phase else 'rate = "1Mpps"')
    if workload.phase:
        _check_phases(workload, here)


def _check_phases(workload: Workload, here: Path) -> None:
    if workload.rate is not None:
        raise Refusal((*here, "rate"), "rate cannot be combined with phases, which have their own rates", "one of them")
    messages = 0.0
    for phase in workload.phase:
        sends = phase.on / (phase.on + phase.off) if phase.on and phase.off else 1
        messages += phase.rate * phase.duration / 1e9 * sends
    if messages < (workload.client.apps or workload.apps):
        raise Refusal(
            (*here, "phase"),
            f"all phases together send {messages:.3g} messages",
            "at least one message for each application",
        )


def unseen_phases(scenario: Scenario) -> list[str]:
    """A note for each workload of whose phases the measurement sees only the first."""
    notes = []
    for index, workload in enumerate(scenario.workload):
        begins = [0, *itertools.accumulate(phase.duration for phase in workload.phase)][:-1]
        late = sum(begin >= scenario.duration for begin in begins)
        if late:
            end = write("duration", scenario.duration)
            notes.append(
                f"workload {index}: the measurement ends at {end}, before {late} of its {len(begins)} phases begin"
            )
    return notes
