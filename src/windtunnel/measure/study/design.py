"""A study's design: its points, each loaded and checked before anything runs, and what each would take here."""

import re
from dataclasses import dataclass
from typing import Any

from windtunnel.errors import UserError
from windtunnel.host.cpu_topology import alike
from windtunnel.measure import counters
from windtunnel.measure.study.columns import METRICS, event_columns
from windtunnel.measure.study.constraints import Combination, combinations
from windtunnel.measure.study.definition import Definition
from windtunnel.measure.study.factors import Change, Factor, changes, check_keys, factors
from windtunnel.measure.study.values import Level
from windtunnel.scenario import Cable, HostView, RunSpec, Scenario, plugins, resolve
from windtunnel.scenario.load import scenario_of
from windtunnel.scenario.overrides import as_sets
from windtunnel.scenario.refusal import Refusal

LONGEST_NAME = 80
MANY_CPUS = 4096


@dataclass(frozen=True)
class Point:
    """One combination of levels."""

    number: int
    """Number of the point, from 1."""
    name: str
    """Name of its run directories: "02-inflight-64-cores-1"."""
    levels: tuple[Level, ...]
    sets: tuple[str, ...]
    """The changes as texts of --set, the study's common changes included."""
    scenario: Scenario
    spec: RunSpec | None
    """The run as it would be here; None if it cannot run."""
    cannot_run: str | None

    @property
    def seconds(self) -> float:
        """Warm-up and measured time."""
        return (self.scenario.warmup + self.scenario.duration) / 1e9


@dataclass(frozen=True)
class Design:
    definition: Definition
    sets: list[str]
    """Changes that the command line gives."""
    factors: list[Factor]
    points: list[Point]

    @property
    def running(self) -> list[Point]:
        return [point for point in self.points if point.spec]

    def describe_point(self, point: Point) -> str:
        """ "inflight 64, cores 1"."""
        return ", ".join(f"{f.name} {level.label}" for f, level in zip(self.factors, point.levels, strict=True))

    def cells(self, point: Point) -> dict[str, Any]:
        """The factors' columns of the table."""
        return {f.name: level.cell for f, level in zip(self.factors, point.levels, strict=True)}


def design(definition: Definition, sets: list[str], host: HostView | Cable) -> Design:
    """Every point of the study. Raises UserError with file and line for whatever is wrong with any of them, or if none
    can run on this host."""
    try:
        varied = factors(definition)
        common = changes(definition, sets)
        check_keys(definition, varied, common)
        _check_counters(definition)
        _check_metrics(definition)
        chosen = combinations(varied, definition.constraints)
    except Refusal as refusal:
        raise definition.source.error(refusal) from None
    checker = _Checker(definition, varied, common, host, len(str(len(chosen))))
    study_design = Design(definition, sets, varied, [checker.point(n, c) for n, c in enumerate(chosen, start=1)])
    if not study_design.running:
        first = study_design.points[0]
        raise UserError(
            f"{definition.source.file}: no point can run here; {study_design.describe_point(first)}: {first.cannot_run}",
            remedy="use a larger host, or values that fit this one",
        )
    return study_design


def code_of(definition: Definition, sets: list[str]) -> list[str]:
    """What runs as the user when the handlers of any point are opened, without opening one. Raises UserError for what is wrong with the
    study."""
    try:
        varied = factors(definition)
        common = changes(definition, sets)
        points = combinations(varied, definition.constraints)
    except Refusal as refusal:
        raise definition.source.error(refusal) from None
    with plugins.code_not_opened():
        scenarios = [_loaded(definition, varied, common, point)[0] for point in points]
    return list(dict.fromkeys(code for scenario in scenarios for code in plugins.code_of(scenario)))


def _loaded(
    definition: Definition, varied: list[Factor], common: list[Change], combination: Combination
) -> tuple[Scenario, dict[str, str | None]]:
    """A point's scenario, and the place in the study of each of its changes."""
    source = definition.source
    places = {change.text: None if change.path is None else source.place(change.path) for change in common}
    for n, (factor, i) in enumerate(zip(varied, combination, strict=True)):
        place = source.place(("factor", n, "values", i))
        own = zip(factor.keys, factor.levels.members[i].values, strict=True)
        places |= {text: f"{place}: {factor.name}" for key, value in own for text in as_sets({key: value})}
    try:
        return scenario_of(
            definition.scenario_file, definition.scenario_text, list(places), definition.source.file.parent
        ), places
    except UserError as error:
        raise _at_its_place(error, places) from None


def _check_counters(definition: Definition) -> None:
    try:
        counters.check(definition.counters)
    except UserError as error:
        raise Refusal(("counters",), f"counters: {error.message}", error.remedy or "") from None


def _check_metrics(definition: Definition) -> None:
    known = METRICS | event_columns(definition.counters).keys()
    for n, name in enumerate(definition.metrics):
        if name not in known:
            raise Refusal(("metrics", n), f'no metric "{name}"', 'the page "Study keys and columns" lists them')


class _Checker:
    """Loads points and sees whether they can run on the host."""

    def __init__(
        self, definition: Definition, varied: list[Factor], common: list[Change], host: HostView | Cable, digits: int
    ):
        self._definition, self._factors, self._common = definition, varied, common
        self._host, self._digits = host, digits
        self._anywhere = HostView(
            cpus=list(range(MANY_CPUS)),
            topology=alike(range(MANY_CPUS)),
            hugepages_free_bytes=1 << 60,
            hugepages_usable=True,
            root=True,
        )

    def point(self, number: int, combination: Combination) -> Point:
        scenario, places = _loaded(self._definition, self._factors, self._common, combination)
        levels = tuple(f.levels.members[i] for f, i in zip(self._factors, combination, strict=True))
        spec, reason = self._placed(scenario, places)
        name = self._name(number, levels)
        return Point(number, name, levels, tuple(places), scenario, spec, reason)

    def _placed(self, scenario: Scenario, places: dict[str, str | None]) -> tuple[RunSpec | None, str | None]:
        """The run, or why it cannot run here. Raises UserError for what no host could run, because that is an error of the study."""
        try:
            return resolve(scenario, self._host), None
        except UserError as here:
            try:
                resolve(scenario, self._anywhere)
            except UserError as anywhere:
                raise _at_its_place(anywhere, places) from None
            return None, _without_place(here, places)

    def _name(self, number: int, levels: tuple[Level, ...]) -> str:
        pairs = zip(self._factors, levels, strict=True)
        text = "-".join(f"{factor.name}-{level.label}" for factor, level in pairs)
        plain = re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")
        return f"{number:0{self._digits}d}-{plain}"[:LONGEST_NAME].rstrip("-.")


def _at_its_place(error: UserError, places: dict[str, str | None]) -> UserError:
    """The error of a change that the study makes, with the place in the study."""
    for text, place in places.items():
        if place and error.message.startswith(prefix := f"--set {text}: "):
            return UserError(f"{place}: {error.message.removeprefix(prefix)}", remedy=error.remedy)
    return error


def _without_place(error: UserError, places: dict[str, str | None]) -> str:
    """The message without the --set that it is about, which is shown next to it."""
    prefixes = (f"--set {text}: " for text in places)
    return next(
        (error.message.removeprefix(prefix) for prefix in prefixes if error.message.startswith(prefix)), error.message
    )
