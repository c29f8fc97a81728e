"""The copiers that a scenario names: those of the engine, and files of the user's own."""

import difflib
from collections.abc import Mapping
from functools import cache
from pathlib import Path as File

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.parts.copies.keys import Copies
from windtunnel.parts.copies.query import Copier, copiers
from windtunnel.scenario.handlers import check_option
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.plugins import check_code, is_plugin, open_plugin
from windtunnel.scenario.refusal import Path, Refusal


def known() -> dict[str, Copier]:
    """The engine's copiers by name; none if there is no engine to ask: names and options then pass as they are."""
    try:
        return _of_engine(find_engine())
    except UserError:
        return {}


@cache
def _of_engine(engine: File) -> dict[str, Copier]:
    """The copiers of an engine, which is asked once: that takes a process."""
    return {copier.name: copier for copier in copiers(engine)}


def option_value(copier: Copier, options: Mapping[str, object], name: str) -> str:
    default = next(option.default for option in copier.options if option.name == name)
    return str(options.get(name, default))


def named_copier(copies: Copies) -> Copier | None:
    """The copier of the engine that is named. None: nobody knows it, or it is a file of the user's."""
    return known().get(copies.engine)


def named_copiers(copies: Copies) -> list[str]:
    """The name of the copier, and behind it that of the one on which it works, if it works on another one."""
    copier = named_copier(copies)
    inner = [option_value(copier, copies.options, copier.inner_option)] if copier and copier.inner_option else []
    return [copies.engine, *inner]


def working(copies: Copies) -> Copier | None:
    """The copier of the engine that moves the bytes: the one that is named, or the one on which it works. None: as `named_copier`."""
    return known().get(named_copiers(copies)[-1])


def check_named(copies: Copies, here: Path) -> None:
    """Opens no file. Raises Refusal if the engine has no such copier, or the copier no such depth or option, and for a file if code is
    refused."""
    check_code([name for name in named_copiers(copies) if is_plugin(name)], (*here, "engine"))
    all_known = known()
    if not all_known or is_plugin(copies.engine):
        return
    if copies.engine not in all_known:
        close = difflib.get_close_matches(copies.engine, all_known, n=1)
        remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(all_known)}, or a .so"
        raise Refusal((*here, "engine"), f'no copier "{copies.engine}"', remedy)
    _check_depth(copies, all_known[copies.engine], here)
    for name, value in copies.options.items():
        check_option(copies.engine, all_known[copies.engine].options, name, value, (*here, "options", name))


def _check_depth(copies: Copies, copier: Copier, here: Path) -> None:
    if copies.depth > copier.most_depth:
        raise Refusal(
            (*here, "depth"),
            f"{copier.name} takes {copier.most_depth} copies at once, not {copies.depth}",
            f"at most {copier.most_depth}",
        )


def plan_copier(scenario: Scenario, copies: Copies, here: Path) -> tuple[str, dict[str, str]]:
    """Name and options as the plan has them, files by absolute path. Files of the user's are opened. Raises Refusal."""
    name, copier = copies.engine, named_copier(copies)
    if is_plugin(name):
        name, in_file = _in_file(scenario, name, (*here, "engine"))
        copier = in_file[0] if in_file else None
    if copier:
        _check_depth(copies, copier, here)
    listed, directory = copier.options if copier else None, scenario.source.file.parent
    options = {
        option: check_option(name, listed, option, value, (*here, "options", option), directory)
        for option, value in copies.options.items()
    }
    inner = copier.inner_option if copier else None
    if inner and is_plugin(options.get(inner, "")):
        options[inner], _ = _in_file(scenario, options[inner], (*here, "options", inner))
    return name, options


def _in_file(scenario: Scenario, name: str, path: Path) -> tuple[str, tuple[Copier, ...]]:
    """The absolute path of a copier's file, and what it says of itself."""
    return open_plugin(scenario, name, path, copiers, "plugins/copier")
