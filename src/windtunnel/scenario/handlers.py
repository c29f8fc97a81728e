"""Handlers as the plan wants them: names and options checked against what the engine says of them, plug-ins by absolute path."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path as File
from typing import Any, Literal

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Handler
from windtunnel.engine.query import Handler as Known
from windtunnel.engine.query import HandlerOption, handlers
from windtunnel.errors import UserError
from windtunnel.part_registry import part_functions
from windtunnel.scenario.keys import Scenario, Workload
from windtunnel.scenario.quantities import parse
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.text_file import named_file

Kind = Literal["message", "packet"]
_code_refused = ContextVar("code_refused", default=False)
_code_not_opened = ContextVar("code_not_opened", default=False)


@contextmanager
def code_refused() -> Iterator[None]:
    """Within, a scenario whose handlers would run code of its own is refused, and none of it is opened."""
    before = _code_refused.set(True)
    try:
        yield
    finally:
        _code_refused.reset(before)


@contextmanager
def code_not_opened() -> Iterator[None]:
    """Within, plug-ins are named and not opened, so that nobody knows their options, and parts prepare no handler: for who asks about a
    scenario and does not run it."""
    before = _code_not_opened.set(True)
    try:
        yield
    finally:
        _code_not_opened.reset(before)


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


def in_plugin(plugin: File) -> tuple[Known, ...]:
    """What a shared object says of itself; nothing if there is no engine to ask, or none of its code is to run. Raises UserError in the
    engine's words."""
    if _code_not_opened.get():
        return ()
    try:
        engine = find_engine()
    except UserError:
        return ()
    return tuple(handlers(engine, plugin))


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
    _check_code(_code_of(workload), path)
    if _is_plugin(name):
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
    if described and not _code_not_opened.get():
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
        name, known = _plugin(scenario, name, path) if _is_plugin(name) else (name, built_in())
    except Refusal:
        return None
    return next((handler for handler in known if (handler.name, handler.kind) == (name, "message")), None)


def code_of(scenario: Scenario) -> list[str]:
    """What runs when its handlers are opened, as the file names it: plug-ins, and programs that options name."""
    return list(dict.fromkeys(code for workload in scenario.workload for code in _code_of(workload)))


def _code_of(workload: Workload) -> list[str]:
    plugins = [name for name in (workload.handler, workload.packet_handler) if name and _is_plugin(name)]
    return plugins + [
        program
        for options in (workload.options, workload.packet_options)
        for code_of_options in part_functions("handlers", "code")
        for program in code_of_options(options)
    ]


def _check_code(code: list[str], path: Path) -> None:
    if code and _code_refused.get():
        raise Refusal(path, f"{code[0]} is code of its own", "look at it, and leave --no-plugins out")


def _is_plugin(name: str) -> bool:
    return "/" in name or name.endswith(".so")


def _plugin(scenario: Scenario, name: str, path: Path) -> tuple[str, tuple[Known, ...]]:
    """The absolute path, and what it is, under that path as its name."""
    _check_code([name], path)
    named = scenario.source.file.parent / name
    try:
        file = named_file(named)
    except UserError as error:
        raise Refusal(
            path, error.message, "build the plug-in first; its path is relative to the scenario file"
        ) from None
    try:
        known = in_plugin(named)  # by this name: the engine asks who could lead it elsewhere
    except UserError as error:
        raise Refusal(path, error.message, error.remedy or "a plug-in built as in plugins/skeleton") from None
    return str(file), tuple(handler.model_copy(update={"name": str(file)}) for handler in known)


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
