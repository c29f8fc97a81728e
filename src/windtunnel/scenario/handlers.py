"""Handlers as the plan wants them: names and options checked against what the engine says of them, plug-ins by absolute path."""

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path as File
from typing import Any, Literal

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Handler
from windtunnel.engine.query import Handler as Known
from windtunnel.engine.query import HandlerOption, handlers
from windtunnel.errors import UserError
from windtunnel.part_registry import part_functions
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.plugins import check_code, code_of_workload, is_plugin, may_open, open_plugin
from windtunnel.scenario.quantities import parse
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.text_file import named_file

Kind = Literal["message", "packet"]


def built_in() -> tuple[Known, ...]:
    """The engine's own handlers; none if there is no engine to ask: names and options then pass as they are."""
    try:
        return _of_engine(find_engine())
    except UserError:
        return ()


@cache
def _of_engine(engine: File) -> tuple[Known, ...]:
    """The handlers of an engine, which is asked once: that takes a process."""
    return tuple(handlers(engine))


def plan_handler(scenario: Scenario, index: int, kind: Kind) -> Handler | None:
    """The handler of one workload, None if it has none of this kind. Raises Refusal."""
    workload = scenario.workload[index]
    name = workload.handler if kind == "message" else workload.packet_handler
    if name is None:
        return None
    beside = kind == "packet" and workload.handler is not None
    options = workload.packet_options if beside else workload.options
    path: Path = ("workload", index, "handler" if kind == "message" else "packet_handler")
    options_path: Path = ("workload", index, "packet_options" if beside else "options")
    check_code(code_of_workload(workload), path)
    if is_plugin(name):
        name, known = _plugin(scenario, name, path)
    else:
        known = built_in()
    described = _described(name, kind, known, path) if known else None
    handler = Handler(
        name=name,
        options={
            key: check_option(
                name,
                described.options if described else None,
                key,
                options[key],
                (*options_path, key),
                scenario.source.file.parent,
            )
            for key in options
        },
    )
    if described and may_open():
        defaults = {option.name: option.default for option in described.options}
        for prepare in part_functions("handlers", "prepare"):
            handler = prepare(handler, defaults, options_path, scenario.source.file.parent)
    return handler


def named_handler(scenario: Scenario, index: int) -> Known | None:
    """What the engine says of a workload's message handler; None if there is none, or nobody knows it. What is wrong with its name
    `plan_handler` says."""
    name = scenario.workload[index].handler
    path: Path = ("workload", index, "handler")
    if name is None:
        return None
    try:
        name, known = _plugin(scenario, name, path) if is_plugin(name) else (name, built_in())
    except Refusal:
        return None
    return next((handler for handler in known if (handler.name, handler.kind) == (name, "message")), None)


def _plugin(scenario: Scenario, name: str, path: Path) -> tuple[str, tuple[Known, ...]]:
    """The absolute path of a handler's file, and what it says of itself."""
    return open_plugin(scenario, name, path, handlers, "plugins/skeleton")


def _described(name: str, kind: Kind, known: tuple[Known, ...], path: Path) -> Known:
    for handler in known:
        if (handler.name, handler.kind) == (name, kind):
            return handler
    if any(handler.name == name for handler in known):
        other = "packet_handler" if kind == "message" else "handler"
        raise Refusal(path, f"{name} is not a {kind} handler", f'{other} = "{name}"')
    names = sorted(handler.name for handler in known if handler.kind == kind)
    raise Refusal(path, f'no {kind} handler "{name}"', _suggestion(name, names, f"one of {', '.join(names)}, or a .so"))


def check_option(
    who: str, options: Sequence[HandlerOption] | None, name: str, value: Any, path: Path, directory: File = File()
) -> str:
    """An option of a handler or a copier as the engine wants it; None: nobody knows its options. Raises Refusal."""
    if options is None:
        return _plain(value)
    listed = {option.name: option for option in options}
    if name not in listed:
        remedy = f"its options: {', '.join(listed)}" if listed else "it has none"
        raise Refusal(path, f'{who} has no option "{name}"', _suggestion(name, list(listed), remedy))
    return _checked(listed[name], value, directory, path)


def _checked(option: HandlerOption, value: Any, directory: File, path: Path) -> str:
    """The option as the engine wants it: plain numbers and words, and files by absolute path."""
    if option.type in ("bytes", "count"):
        try:
            return str(parse("size" if option.type == "bytes" else "count", value))
        except ValueError as error:
            example = '"64KiB"' if option.type == "bytes" else "1000"
            raise Refusal(path, f"{option.name}: {error}", f"{option.help}: as in {option.name} = {example}") from None
    choices = option.choices or []
    if option.type == "choice" and _plain(value) not in choices:
        raise Refusal(
            path, f'{option.name}: "{_plain(value)}" is not a choice', f"one of {', '.join(choices)}: {option.help}"
        )
    if option.type == "file" and _plain(value):
        return _file(option, _plain(value), directory, path)
    return _plain(value)


def _file(option: HandlerOption, name: str, directory: File, path: Path) -> str:
    try:
        return str(named_file(directory / name))
    except UserError as error:
        raise Refusal(path, f"{option.name}: {error.message}", "its path is relative to the scenario file") from None


def _suggestion(name: str, known: list[str], otherwise: str) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f'did you mean "{close[0]}"?' if close else otherwise


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
