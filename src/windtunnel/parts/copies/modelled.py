"""Copies by an engine that is given as figures: its profile, and what a run with it cannot have.

The run's time stands still while the CPU moves the bytes, so nothing may go on meanwhile: one worker, a wire without a time of its own,
no other copier with a thread or a device, no table that a thread changes."""

from collections.abc import Iterable, Mapping, Sequence

from windtunnel.parts.copies.engine_profiles import Profile, load_profile, shipped
from windtunnel.parts.copies.keys import Copies
from windtunnel.parts.copies.query import Copier
from windtunnel.scenario import part_resources, wires
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Path, Refusal


def named_profile(scenario: Scenario, copier: Copier, options: Mapping[str, object], here: Path) -> Profile | None:
    """The figures of a modelled engine; None if the copier moves bytes in earnest. Raises Refusal, or UserError for what is wrong in
    a profile."""
    if copier.profile_option is None:
        return None
    name = str(options.get(copier.profile_option, ""))
    remedy = f'{copier.profile_option} = "{shipped()[0]}", or a TOML file of your own, relative to the scenario file'
    if not name:
        raise Refusal(
            here, f"{copier.name} has no {copier.profile_option}: it says what the engine costs", f"options: {remedy}"
        )
    directory = scenario.source.file.parent
    if name not in shipped() and not (name.endswith(".toml") and (directory / name).is_file()):
        raise Refusal((*here, "options", copier.profile_option), f'no profile "{name}" of a copy engine', remedy)
    return load_profile(name, directory)


def check_modelled(
    scenario: Scenario, copies: Copies, profile: Profile, others: Iterable[tuple[int, str]], here: Path
) -> None:
    """`others`: copiers of workloads that may go on by themselves. That there is one worker `check_one_worker` says, once workers have
    their CPUs. Raises Refusal."""
    queue = int(profile.device.queue.given) if profile.device else copies.depth
    if copies.depth > queue:
        raise Refusal(
            (*here, "depth"), f"{profile.name} takes {queue} copies at once, not {copies.depth}", f"at most {queue}"
        )
    if not wires.has(scenario, "twice"):
        raise Refusal(
            (*here, "engine"),
            f'copies are modelled, and the wire "{scenario.wire.kind}" has its own time',
            f"wire.kind = {wires.named('twice')}, or another engine",
        )
    for index, other in others:
        raise Refusal(
            ("workload", index, "copies", "engine"),
            f"{other} would go on while the run's time stands still for the modelled copies of another workload",
            "one kind of engine in a scenario",
        )
    for index in range(len(scenario.workload)):
        for key in part_resources.background_keys(scenario, index):
            raise Refusal(
                key,
                f"{key[-1]} would be changed while the run's time stands still for modelled copies",
                f"{key[-1]} without changes, or another engine",
            )


def check_one_worker(here: Path, cpus: Sequence[int]) -> None:
    """`cpus`: of the workers of a run that models copies. Raises Refusal."""
    if len(cpus) > 1:
        raise Refusal(
            (*here, "engine"),
            f"copies are modelled on one worker, and this run has {len(cpus)}: the others would go on",
            f"cores = [{cpus[0]}] for each side",
        )
