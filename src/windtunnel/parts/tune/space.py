"""The settings among which a tuner chooses: a study's factors and constraints, and which of their points can run on this host.

A space file has the grammar of a study file. Keys that control how a study runs (repeats, metrics) have no effect here.
"""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from windtunnel.errors import UserError
from windtunnel.measure.study import constraints
from windtunnel.measure.study.constraints import Combination
from windtunnel.measure.study.definition import Definition, read_as
from windtunnel.measure.study.definition import Factor as FactorTable
from windtunnel.measure.study.factors import Factor, changes, check_keys, factors
from windtunnel.measure.study.values import Level, kind_of
from windtunnel.runs.identity import flat
from windtunnel.scenario import HostView, RunSpec, Scenario, load, resolve
from windtunnel.scenario.load import MAX_FILE_BYTES
from windtunnel.scenario.overrides import as_sets, parse_overrides
from windtunnel.scenario.quantities import parse
from windtunnel.scenario.refusal import Refusal, Source
from windtunnel.scenario.values import Text
from windtunnel.text_file import read_text

MOST_FACTORS = 24
DRAWN = 500
"""Points of a space that are checked on this host before the space is refused."""


class SpaceFile(Definition):
    """A study file that names no scenario: that of the command line is tuned."""

    scenario: Text = Field("-", description="has no effect: the command line names the scenario")
    factor: list[FactorTable] = Field(min_length=1, max_length=MOST_FACTORS, description="one table a factor")


@dataclass
class Space:
    """Points are combinations: one position in the levels of each factor."""

    file: Path
    """File of the scenario."""
    common: tuple[str, ...]
    """The changes of every trial, as texts of --set: [set] of the space, and the command line."""
    factors: tuple[Factor, ...]
    allowed: frozenset[Combination] | None
    """Combinations that the constraints allow; None: there are no constraints."""
    host: HostView
    plain: RunSpec
    """The file as it would run here."""
    text: str = ""
    """Text of the space file; empty: the default space."""
    _workers_or_reason: dict[Combination, int | str] = field(default_factory=dict)
    """CPUs of the server's workers, or why the point cannot run here."""

    @cached_property
    def own(self) -> dict[str, Any]:
        """The keys of the file as resolved, by dotted path."""
        return flat(self.plain.resolved)

    @property
    def size(self) -> int:
        """Points, as far as the constraints tell."""
        return len(self.allowed) if self.allowed is not None else math.prod(len(f.levels.members) for f in self.factors)

    def has(self, point: Combination) -> bool:
        """Whether it is a point of the space, whatever the constraints say."""
        return len(point) == len(self.factors) and all(
            0 <= i < len(factor.levels.members) for factor, i in zip(self.factors, point, strict=True)
        )

    def sets(self, point: Combination) -> tuple[str, ...]:
        """The changes of a point beyond `common`, as texts of --set: the keys in which it differs from the file."""
        pairs = [
            (key, value)
            for factor, i in zip(self.factors, point, strict=True)
            for key, value in zip(factor.keys, factor.levels.members[i].values, strict=True)
        ]
        return tuple(as_sets({key: value for key, value in pairs if not _same(value, self.own.get(key))}))

    def describe_point(self, point: Combination) -> str:
        """The levels of a point, as in "inflight 64, cores 1"."""
        return ", ".join(f"{f.name} {f.levels.members[i].label}" for f, i in zip(self.factors, point, strict=True))

    def file_point(self) -> tuple[Combination, bool]:
        """The point nearest to the file, and whether it is the file's."""
        nearest = [_nearest(factor, self.own) for factor in self.factors]
        return tuple(i for i, _ in nearest), all(exact for _, exact in nearest)

    def changes(self, point: Combination) -> str:
        """The levels of the factors that differ from the file; "the file" if none does. Factors of one kind that all have the same level
        are named once: "batch_* 128"."""
        labels = {f.name: f.levels.members[i].label for f, i in zip(self.factors, point, strict=True)}
        changed = [
            factor.name
            for factor, i in zip(self.factors, point, strict=True)
            if not _is(factor.levels.members[i], factor.keys, self.own)
        ]
        shown_labels = {}
        for name in changed:
            alike = [other for other in labels if _kind(other) == _kind(name)]
            whole = len(alike) > 1 and set(alike) <= set(changed) and len({labels[other] for other in alike}) == 1
            shown_labels[f"{_kind(name)}_*" if whole else name] = labels[name]
        return ", ".join(f"{name} {label}" for name, label in shown_labels.items()) or "the file"

    def at(self, start: Combination, changes: Mapping[str, Any]) -> Combination | None:
        """`start` moved by those of these changes whose keys are factors, to the nearest level on the way to a number, else to the very value.
        None if nothing moves, or a factor has no such value."""
        point = list(start)
        for n, factor in enumerate(self.factors):
            new_values = [(at, changes[key]) for at, key in enumerate(factor.keys) if key in changes]
            if new_values:
                level = _towards(factor, start[n], new_values)
                if level is None:
                    return None
                point[n] = level
        return tuple(point) if tuple(point) != start else None

    def refused(self, point: Combination) -> str | None:
        """The reason why a point cannot run here; None: it can."""
        workers_or_reason = self._find_workers(point)
        return workers_or_reason if isinstance(workers_or_reason, str) else None

    def check_unchanged(self) -> None:
        """Raises UserError for a file that is no longer the one that is tuned."""
        if read_text(self.file, MAX_FILE_BYTES, "the scenario that is tuned") != self.plain.scenario.source.text:
            raise UserError(
                f"{self.file}: changed while it was tuned",
                remedy="undo the change, or begin again with another --out",
            )

    def scenario(self, sets: Sequence[str]) -> Scenario:
        """The file with these changes. Raises UserError if the result is not a valid scenario."""
        return load(self.file, [*self.common, *sets])

    def spec(self, point: Combination) -> RunSpec:
        """The run of a point. Raises UserError for a point that cannot run here."""
        return resolve(self.scenario(self.sets(point)), self.host)

    def workers(self, point: Combination) -> int:
        """CPUs that the server's workers take; of a client without a server here, the client's. Raises UserError for a point that cannot run
        here."""
        workers_or_reason = self._find_workers(point)
        if isinstance(workers_or_reason, str):
            raise UserError(workers_or_reason)
        return workers_or_reason

    def neighbours(self, point: Combination) -> Iterator[Combination]:
        """Points that differ in one factor: by one level if the levels are numbers, else by any."""
        for n, factor in enumerate(self.factors):
            for i in range(len(factor.levels.members)):
                if i != point[n] and (abs(i - point[n]) == 1 or not is_ordered(factor)):
                    yield (*point[:n], i, *point[n + 1 :])

    def drawn(self, dice: random.Random, count: int) -> Iterator[Combination]:
        """Draws `count` points at random; all points of a small space, in a random order."""
        if self.allowed is not None or self.size <= count:
            points = sorted(self.allowed) if self.allowed is not None else list(self._product())
            yield from dice.sample(points, min(count, len(points)))
            return
        for _ in range(count):
            yield tuple(dice.randrange(len(factor.levels.members)) for factor in self.factors)

    def _product(self) -> Iterator[Combination]:
        return itertools.product(*(range(len(factor.levels.members)) for factor in self.factors))

    def _find_workers(self, point: Combination) -> int | str:
        if point not in self._workers_or_reason:
            if self.allowed is not None and point not in self.allowed:
                return "the constraints exclude it"
            try:
                self._workers_or_reason[point] = workers_of(self.spec(point))
            except UserError as error:
                self._workers_or_reason[point] = error.message
        return self._workers_or_reason[point]


def _kind(name: str) -> str:
    """The kind of a factor: the part of its name before the first "_"."""
    return name.partition("_")[0]


def is_ordered(factor: Factor) -> bool:
    """Whether its levels are numbers."""
    return factor.levels.type in ("BIGINT", "DOUBLE")


def workers_of(spec: RunSpec) -> int:
    """CPUs of the server's workers; of a client without a server here, the client's."""
    cpus: dict[str, set[int]] = {}
    for plan in spec.plans:
        for worker in plan.workers:
            for stage in worker.stages:
                cpus.setdefault(plan.endpoints[stage.endpoint].side, set()).add(worker.cpu)
    return len(cpus.get("server") or cpus.get("client") or ())


def from_file(scenario: Path, space: Path, sets: Sequence[str], host: HostView) -> Space:
    """The space in a file. Raises UserError with file and line for an error in it, and for a space of which no point can run here."""
    space_file = read_as(space, SpaceFile)
    return _space(scenario, space_file, sets, host, space_file.source.text)


def default(scenario: Path, sets: Sequence[str], host: HostView) -> Space:
    """The default space of the scenario on this host: for each key that moves work between calls, cores and memory, the values that `check` accepts
    when only they are changed. Raises UserError for a scenario that cannot run."""
    spec = resolve(load(scenario, list(sets)), host)
    own = flat(spec.resolved)
    tables = []
    fixed = {override.path for override in parse_overrides(list(sets))}
    for name, keys, rows in _usual(spec, own, len(host.cpus)):
        if any(override.path in fixed for override in parse_overrides([f"{key}=0" for key in keys])):
            continue  # the command line has priority
        good = [row for row in rows if _runs(scenario, sets, keys, row, own, host)]
        if len(good) > 1:
            tables.append(FactorTable(name=name, keys=keys, values=[list(row) for row in good]))
    if not tables:
        raise UserError(f"{scenario}: nothing to tune: no key can have another value here", remedy="--space FILE")
    space_file = SpaceFile(factor=tables)
    space_file._source = Source(scenario, "")
    return _space(scenario, space_file, sets, host, "")


def _space(scenario: Path, space_file: SpaceFile, sets: Sequence[str], host: HostView, text: str) -> Space:
    try:
        varied = factors(space_file)
        common = changes(space_file, list(sets))
        check_keys(space_file, varied, common)
        allowed = None
        if space_file.constraints:
            allowed = frozenset(constraints.combinations(varied, space_file.constraints, constraints.MAX_PRODUCT))
    except Refusal as refusal:
        raise space_file.source.error(refusal) from None
    texts = tuple(change.text for change in common)
    plain = resolve(load(scenario, list(texts)), host)
    space = Space(scenario, texts, tuple(varied), allowed, host, plain, text)
    _has_a_point(space, space_file)
    return space


def _has_a_point(space: Space, space_file: SpaceFile) -> None:
    """Raises UserError for a space of which no point can run here. In a large one, random points are checked."""
    looked = 0
    for point in itertools.chain([space.file_point()[0]], space.drawn(random.Random(1), DRAWN)):
        looked += 1
        if space.refused(point) is None:
            return
    *_, last = space.drawn(random.Random(1), 1)
    where = f"{space_file.source.file}: " if space.text else f"{space.file}: "
    count_text = "no point" if looked > space.size else f"none of {looked} points of {space.size:,}"
    raise UserError(
        f"{where}{count_text} can run here; {space.describe_point(last)}: {space.refused(last)}",
        remedy="values that fit this host, or other constraints",
    )


def _runs(
    scenario: Path, sets: Sequence[str], keys: Sequence[str], row: Sequence[Any], own: dict[str, Any], host: HostView
) -> bool:
    if all(_same(value, own.get(key)) for key, value in zip(keys, row, strict=True)):
        return True
    try:
        resolve(load(scenario, [*sets, *as_sets(dict(zip(keys, row, strict=True)))]), host)
    except UserError:
        return False
    return True


STAGES = ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")
OPS = ("ring_mp_mc", "ring_sp_sc", "stack", "lf_stack")
LARGE_MTU = 9000
BURSTS = tuple(1 << n for n in range(2, 9))
INFLIGHT = tuple(1 << n for n in range(6, 14))
CACHES = (64, 128, 256, 512)
LENGTHS = tuple(1 << n for n in range(8, 13))
"""Lengths of rings, and of queues of descriptors."""


def _usual(spec: RunSpec, own: dict[str, Any], cpus: int) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """Name, keys and rows of values, the file's own among them."""
    scenario: Scenario = spec.scenario
    sides = [side for side in ("client", "server") if f"{side}.batch.nic_rx" in own]

    def on_sides(key: str) -> list[str]:
        return [f"{side}.{key}" for side in sides]

    for stage in STAGES:
        keys = [key for key in on_sides(f"batch.{stage}") if key != "server.batch.app_tx"]
        if keys:
            yield f"batch_{stage}", keys, _around(own, keys, BURSTS)
    if "client" in sides and all(workload.inflight is None for workload in scenario.workload):
        yield "inflight", ["client.inflight"], _around(own, ["client.inflight"], INFLIGHT)
    yield from _cores(spec, own, cpus)
    for n, workload in enumerate(scenario.workload):
        suffix = f"_{n}" if len(scenario.workload) > 1 else ""
        for name, value in () if workload.groups else (("apps", workload.apps), ("dispatchers", workload.dispatchers)):
            counts = sorted({value, *(1 << n for n in range(cpus.bit_length()) if 1 << n <= cpus)})
            yield f"{name}{suffix}", [f"workload.{n}.{name}"], [(count,) for count in counts]
        yield f"colocate{suffix}", [f"workload.{n}.colocate"], [(True,), (False,)]
    keys = on_sides("mtu")
    if any(workload.request > own[keys[0]] for workload in scenario.workload):
        yield "mtu", keys, _with_own(own, keys, (LARGE_MTU,))
    yield "pool_cache", on_sides("mempool.cache"), _around(own, on_sides("mempool.cache"), CACHES)
    yield "pool_ops", on_sides("mempool.ops"), _with_own(own, on_sides("mempool.ops"), OPS)
    for key in ("ring_size", "rx_descriptors", "tx_descriptors"):
        yield key, on_sides(key), _around(own, on_sides(key), LENGTHS)


def _cores(spec: RunSpec, own: dict[str, Any], cpus: int) -> Iterator[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """How many CPUs the server may use: those that the placement gave it, from the first, and more below them."""
    own_cores, key = own.get("server.cores"), "server.cores"
    if own_cores and cpus > 2 and not own.get("server.worker"):
        lists = [[cpu for cpu in range(own_cores[0], own_cores[0] - count, -1)] for count in range(1, cpus)]
        yield (
            "server_cores",
            [key],
            [(own_cores,), *((cores,) for cores in lists if cores[-1] >= 0 and cores != own_cores)],
        )


def _around(own: dict[str, Any], keys: Sequence[str], usual: Sequence[int]) -> list[tuple[Any, ...]]:
    """Usual values, for all keys, and the file's own with a quarter and four times of them, ascending: a file far from the usual values can come
    back to them, and one whose sides differ can keep that. 0 is there only if the file has it."""
    own_values = tuple(own[key] for key in keys)
    quarter, more = tuple(value // 4 for value in own_values), tuple(value * 4 for value in own_values)
    rows = [(value,) * len(keys) for value in usual] + [row for row in (quarter, more) if min(row) > 0]
    return sorted({own_values, *rows})


def _with_own(own: dict[str, Any], keys: Sequence[str], values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The file's values, and each of these for all keys."""
    own_values = tuple(own[key] for key in keys)
    return list(dict.fromkeys([own_values, *((value,) * len(keys) for value in values)]))


def _is(level: Level, keys: Sequence[str], own: dict[str, Any]) -> bool:
    """Whether the file has this level."""
    return all(_same(value, own.get(key)) for key, value in zip(keys, level.values, strict=True))


def _nearest(factor: Factor, own: dict[str, Any]) -> tuple[int, bool]:
    """Position of the level that is the file's, or else of the nearest one, and which of both."""
    for i, level in enumerate(factor.levels.members):
        if _is(level, factor.keys, own):
            return i, True
    numbers = [_number(level.values[0]) for level in factor.levels.members]
    own_number = _number(own.get(factor.keys[0]))
    if own_number is None or None in numbers:
        return 0, False
    return min(range(len(numbers)), key=lambda i: abs((numbers[i] or 0) - own_number)), False


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    kind = kind_of([value])
    return float(parse(kind, value)) if kind else None


def _same(value: Any, own: Any) -> bool:
    """Whether a value is the one that the file has, in whatever unit."""
    if type(value) is type(own):
        if value == own:
            return True
    elif isinstance(value, int | float) and isinstance(own, int | float) and not isinstance(value, bool):
        return value == own and not isinstance(own, bool)
    kind = kind_of([value, own])
    return kind is not None and parse(kind, value) == parse(kind, own)


def _towards(factor: Factor, start: int, new_values: Sequence[tuple[int, Any]]) -> int | None:
    """The level of a factor some of whose keys, by position, get these values. For numbers it is the nearest one to them, by ratio, on their
    side of `start`, or `start` if there is none. For other values it is the one that has them; None if none has."""
    levels = [[level.values[at] for at, _ in new_values] for level in factor.levels.members]
    wanted = [value for _, value in new_values]
    scales = [_scale(values) for values in levels]
    aim, start_scale = _scale(wanted), scales[start]
    if aim is None or start_scale is None:
        return next((i for i, values in enumerate(levels) if all(map(_same, values, wanted))), None)
    beyond = [
        (abs(scale - aim), i)
        for i, scale in enumerate(scales)
        if scale is not None and (scale - start_scale) * (aim - start_scale) > 0
    ]
    return min(beyond)[1] if beyond else start


def _scale(values: Sequence[Any]) -> float | None:
    """Position of numbers on a scale on which equal ratios are equally far; it has a 0, too. None: they are not numbers."""
    numbers = [_number(value) for value in values]
    known = [math.asinh(number) for number in numbers if number is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(numbers) else None
