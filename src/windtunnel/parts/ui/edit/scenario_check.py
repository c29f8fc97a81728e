"""The result of `windtunnel check` for a text: the error with file and line, or the planned run."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.measure.try_handlers import with_handler_notes
from windtunnel.results.run_map import by_cpu, facts, wire_words
from windtunnel.scenario import RunSpec, Scenario, here, resolve
from windtunnel.scenario.load import MAX_FILE_BYTES, scenario_of
from windtunnel.scenario.plugins import code_not_opened, code_of


@dataclass(frozen=True)
class PlacedStages:
    """Stages of one endpoint on one CPU."""

    side: str
    stages: list[str]
    queues: list[str]
    """Queues that its NIC stages poll or post to, with their UDP port."""


@dataclass(frozen=True)
class PlacedCpu:
    cpu: int
    sides: list[PlacedStages]


@dataclass(frozen=True)
class PlacedNode:
    """A NUMA node, or the CPUs whose node is not known."""

    node: int | None
    cpus: list[PlacedCpu]


@dataclass(frozen=True)
class ScenarioCheck:
    """`problem`: None if the scenario is valid, or not checked; `line`: of the text, if the problem has one."""

    problem: str | None = None
    remedy: str | None = None
    line: int | None = None
    not_yet: str | None = None
    """Why it was not checked: a question, unless the page's script will check it at once."""
    nodes: tuple[PlacedNode, ...] = ()
    wires: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    unchecked: str | None = None
    """Why the engine was not asked."""


NOT_REQUESTED = ScenarioCheck(not_yet="")
"""The result on a page that did not request a check."""


def check(place: Path, text: str, base: Path, came_with_run: bool, opens: bool) -> ScenarioCheck:
    """Checks a text as if it were in `place`; messages name the file relative to `base`. This host must offer what the scenario needs, and handlers
    are opened, as by `windtunnel check`. Without `opens`, no file with code of its own is opened, and no file of a text that came with a run."""
    try:
        if len(text.encode(errors="replace")) > MAX_FILE_BYTES:
            raise UserError(f"{place}: larger than {MAX_FILE_BYTES >> 10}KiB", remedy="a shorter text")
        with nullcontext() if opens else code_not_opened():
            scenario = scenario_of(place, text)
        if not opens and (why := _code_in(scenario, came_with_run)):
            return ScenarioCheck(not_yet=why)
        host = here()
        spec = with_handler_notes(resolve(scenario, host))
    except UserError as error:
        match = re.match(rf"{re.escape(str(place))}:(\d+): ", error.message)
        message = error.message.replace(f"{base}/", "", 1)
        return ScenarioCheck(message, error.remedy, int(match[1]) if match else None)
    wires = {endpoint.side: wire_words(endpoint, len(spec.plans)) for plan in spec.plans for endpoint in plan.endpoints}
    return ScenarioCheck(
        nodes=tuple(_nodes(spec, host.topology.node_of)),
        wires=tuple(dict.fromkeys(wires.values())),
        facts=tuple(facts(spec)),
        unchecked=_unchecked(),
    )


def _code_in(scenario: Scenario, came_with_run: bool) -> str | None:
    """Why the check must wait for the user: code that would run as this user."""
    if code := code_of(scenario):
        return f"The check runs {' and '.join(code)} as you."
    return (
        "This text came with a run. The check opens the handlers, specs and files that it names."
        if came_with_run
        else None
    )


def _unchecked() -> str | None:
    try:
        find_engine()
    except UserError as error:
        return error.message
    return None


def _nodes(spec: RunSpec, node_of: Mapping[int, int]) -> list[PlacedNode]:
    cpus: dict[int, list[PlacedStages]] = {}
    for plan in spec.plans:
        for endpoint in plan.endpoints:
            for cpu, stages in by_cpu(plan, endpoint):
                polled = sorted({stage.index for stage in stages if stage.stage.startswith("nic_")})
                queues = [f"queue {index}, UDP port {endpoint.udp_port + index}" for index in polled]
                names = [f"{stage.stage}:{stage.index}" for stage in stages]
                cpus.setdefault(cpu, []).append(PlacedStages(endpoint.side, names, queues))
    nodes = sorted({node_of.get(cpu) for cpu in cpus}, key=lambda node: -1 if node is None else node)
    return [
        PlacedNode(node, [PlacedCpu(cpu, sides) for cpu, sides in sorted(cpus.items()) if node_of.get(cpu) == node])
        for node in nodes
    ]
