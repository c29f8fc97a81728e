"""Code that a scenario brings: plug-ins, which it names by path, and programs that options name. Whether any of it may be opened."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path as File
from typing import TypeVar

from pydantic import BaseModel

from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError
from windtunnel.part_registry import part_functions
from windtunnel.scenario.keys import Scenario, Workload
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.text_file import named_file

Known = TypeVar("Known", bound=BaseModel)
_code_refused = ContextVar("code_refused", default=False)
_code_not_opened = ContextVar("code_not_opened", default=False)


@contextmanager
def code_refused() -> Iterator[None]:
    """Within, a scenario that would run code of its own is refused, and none of it is opened."""
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


def may_open() -> bool:
    """Whether code of a scenario may be opened."""
    return not _code_not_opened.get()


def code_of(scenario: Scenario) -> list[str]:
    """What runs when a scenario is opened, as the file names it: plug-ins, and programs that options name."""
    return list(dict.fromkeys(code for workload in scenario.workload for code in code_of_workload(workload)))


def code_of_workload(workload: Workload) -> list[str]:
    handlers = [name for name in (workload.handler, workload.packet_handler) if name and is_plugin(name)]
    return handlers + [code for of_part in part_functions("plugins", "code") for code in of_part(workload)]


def check_code(code: Sequence[str], path: Path) -> None:
    """Raises Refusal if there is any, and it is refused."""
    if code and _code_refused.get():
        raise Refusal(path, f"{code[0]} is code of its own", "look at it, and leave --no-plugins out")


def is_plugin(name: str) -> bool:
    """Whether a scenario means a file of the user's by this name of a handler or a copier."""
    return "/" in name or name.endswith(".so")


def open_plugin(
    scenario: Scenario, name: str, path: Path, ask: Callable[[File, File], Sequence[Known]], example: str
) -> tuple[str, tuple[Known, ...]]:
    """The absolute path, and what the file says of itself, under that path as its name; nothing if there is no engine to ask, or none of its
    code is to run. `ask`: asks the engine about the file. `example`: a folder that shows how to build one. Raises Refusal."""
    check_code([name], path)
    named = scenario.source.file.parent / name
    try:
        file = str(named_file(named))
    except UserError as error:
        raise Refusal(
            path, error.message, "build the plug-in first; its path is relative to the scenario file"
        ) from None
    try:
        known = _asked(ask, named)  # by this name: the engine asks who could lead it elsewhere
    except UserError as error:
        raise Refusal(path, error.message, error.remedy or f"a plug-in built as in {example}") from None
    return file, tuple(one.model_copy(update={"name": file}) for one in known)


def _asked(ask: Callable[[File, File], Sequence[Known]], plugin: File) -> Sequence[Known]:
    if not may_open():
        return ()
    try:
        engine = find_engine()
    except UserError:
        return ()
    return ask(engine, plugin)
