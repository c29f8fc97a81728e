"""What is changed from point to point, and what is the same for all: the keys of a study, each of them once."""

from dataclasses import dataclass

from windtunnel.errors import UserError
from windtunnel.measure.study.columns import COLUMN_NAMES, EVENT_NOTES, event_columns
from windtunnel.measure.study.definition import Definition, leaves
from windtunnel.measure.study.definition import Factor as FactorTable
from windtunnel.measure.study.values import Levels, levels, settable
from windtunnel.scenario.overrides import EXAMPLE, as_sets, parse_overrides
from windtunnel.scenario.refusal import Path, Refusal


@dataclass(frozen=True)
class Factor:
    """One factor, ready to be multiplied with the others."""

    name: str
    keys: tuple[str, ...]
    levels: Levels


@dataclass(frozen=True)
class Change:
    """One --set that every point has, and its place: a path into the study file, or None for the command line."""

    text: str
    path: Path | None


@dataclass(frozen=True)
class _Key:
    """A key of the scenario, and what sets it."""

    key: Path
    place: Path | None
    text: str
    factor: int | None


def factors(definition: Definition) -> list[Factor]:
    """The factors of a study, checked. Raises Refusal with its path in the study file."""
    checked: list[Factor] = []
    taken = COLUMN_NAMES | {column.lower() for column in (*event_columns(definition.counters), EVENT_NOTES)}
    for n, factor in enumerate(definition.factor):
        where: Path = ("factor", n)
        for key, place in _keys_with_places(factor, where):
            _parsed(key, place)
        name = factor.column
        if not name.isidentifier() or not name.isascii():
            raise Refusal(where, f'"{name}" is not a valid column name', 'name = "..." of letters, digits and _')
        if name.lower() in taken:
            raise Refusal(where, f'"{name}" is a column of the table already', 'another one, as in name = "my_rate"')
        if any(name.lower() == other.name.lower() for other in checked):
            raise Refusal(where, f'two factors are called "{name}"', 'name = "..." for one of them')
        try:
            checked.append(Factor(name, tuple(factor.all_keys), levels(factor)))
        except Refusal as refusal:
            raise Refusal((*where, *refusal.path), f"{name}: {refusal.what}", refusal.remedy) from None
    return checked


def changes(definition: Definition, sets: list[str]) -> list[Change]:
    """What is changed for every point: [set] first, then the command line's. Raises Refusal, or UserError for a --set."""
    parse_overrides(sets)
    own = []
    for path, value in leaves(definition.set_, ("set",)):
        settable(value, path)
        (text,) = as_sets({".".join(map(str, path[1:])): value})
        own.append(Change(text, path))
    return [*own, *(Change(text, None) for text in sets)]


def check_keys(definition: Definition, checked: list[Factor], common: list[Change]) -> None:
    """Raises Refusal if a key is not a key of a scenario, or if two set the same key."""
    keys: list[_Key] = []
    for n, factor in enumerate(checked):
        for key, where in _keys_with_places(definition.factor[n], ("factor", n)):
            keys.append(_Key(_parsed(key, where), where, f"the factor {factor.name}", n))
    for change in common:
        key = change.text.partition("=")[0]
        place = f"--set {change.text}" if change.path is None else "[set]"
        keys.append(_Key(_parsed(key, change.path or ()), change.path, place, None))
    for n, later in enumerate(keys):
        for earlier in keys[:n]:
            if later.factor is None and earlier.factor is None:
                continue  # of two --set the later one holds, as in `windtunnel run`
            if _overlap(later.key, earlier.key):
                _clash(later, earlier)


def _keys_with_places(factor: FactorTable, where: Path) -> list[tuple[str, Path]]:
    """The factor's keys, each with its place in the file."""
    if factor.key is not None:
        return [(factor.key, (*where, "key"))]
    return [(key, (*where, "keys", n)) for n, key in enumerate(factor.all_keys)]


def _clash(later: _Key, earlier: _Key) -> None:
    name, earlier_name = (".".join(map(str, key.key)) for key in (later, earlier))
    problem = f"{later.text} and {earlier.text} both change {name}"
    if name != earlier_name:
        problem = f"{later.text} changes {name}, and {earlier.text} changes {earlier_name}: one contains the other"
    if later.place is None:
        raise UserError(f"{later.text}: {problem}", remedy="each key in one place")
    raise Refusal(later.place, problem, "each key in one place")


def _overlap(first: Path, second: Path) -> bool:
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


def _parsed(key: str, where: Path) -> Path:
    try:
        return parse_overrides([f"{key}=0"])[0].path
    except UserError:
        raise Refusal(where, f'"{key}" is not a key of a scenario', EXAMPLE.replace("--set ", "")) from None
