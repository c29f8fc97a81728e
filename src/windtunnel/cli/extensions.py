"""Commands of other packages: entry points of the group "windtunnel.commands", each of them a typer application."""

from collections.abc import Callable
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn

import typer

from windtunnel.cli.texts import Command
from windtunnel.errors import UserError

GROUP = "windtunnel.commands"


def names() -> list[str]:
    return sorted(_points())


@cache
def load(name: str) -> Any:
    """The command, or None if no package provides it. A command that cannot be imported prints how to install it when it is called."""
    point = _points().get(name)
    if point is None:
        return None
    try:
        app = point.load()
    except ModuleNotFoundError as error:
        return _unavailable(point, error)
    for info in app.registered_commands:
        info.cls = Command
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    parent.add_typer(app, name=name, rich_help_panel=app.rich_help_panel)
    command: Any = typer.main.get_group(parent).commands[name]
    command.short_help = command.short_help or (command.help or "").removesuffix(".")
    command.invoke = _explained(command.invoke, point)
    return command


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _explained(invoke: Callable[[Any], Any], point: EntryPoint) -> Callable[[Any], Any]:
    """Refuses with the missing package and the command that installs it."""

    @wraps(invoke)
    def guarded(context: Any) -> Any:
        try:
            return invoke(context)
        except ModuleNotFoundError as error:
            refuse(f"windtunnel {point.name}", point, error)

    return guarded


def _unavailable(point: EntryPoint, error: ModuleNotFoundError) -> Any:
    def unavailable(words: list[str] | None = None) -> None:
        refuse(f"windtunnel {point.name}", point, error)

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    anything = {"ignore_unknown_options": True, "help_option_names": []}
    app.command(point.name, short_help=f"(needs {error.name})", context_settings=anything)(unavailable)
    return typer.main.get_command(app)


def refuse(what: str, point: EntryPoint, error: ModuleNotFoundError) -> NoReturn:
    """Names the missing package, and the command that installs it. `what` needs it."""
    if (error.name or "").partition(".")[0] == "windtunnel":  # a fault of ours
        raise error
    from windtunnel.engine.find import to_install

    package = point.dist.name if point.dist else "windtunnel"
    remedy = to_install(*point.extras, package=package)
    raise UserError(f'{what} needs the Python package "{error.name}"', remedy=remedy) from None
