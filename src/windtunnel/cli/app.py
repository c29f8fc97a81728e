"""The commands, by task. Each imports what it needs when it runs."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from windtunnel.cli.calibrate import calibrate
from windtunnel.cli.check import check
from windtunnel.cli.compare import compare
from windtunnel.cli.doctor import doctor
from windtunnel.cli.export import export
from windtunnel.cli.group import EXCHANGE, MEASURE, MODEL, PREPARE, Commands
from windtunnel.cli.handlers import handlers
from windtunnel.cli.history import history
from windtunnel.cli.host import ladder
from windtunnel.cli.imports import run_, testpmd
from windtunnel.cli.init import init
from windtunnel.cli.monitor import monitor
from windtunnel.cli.query import query
from windtunnel.cli.run import run
from windtunnel.cli.schema import schema
from windtunnel.cli.search import search
from windtunnel.cli.show import show
from windtunnel.cli.state import state
from windtunnel.cli.study import study
from windtunnel.cli.texts import Command, of_docstring
from windtunnel.cli.wires import wires
from windtunnel.part_registry import part_modules

EXAMPLES = """\
Examples:
  windtunnel host doctor                     is this machine fit to measure on?
  windtunnel init echo mine.toml             write a scenario to start from
  windtunnel check mine.toml                 is it valid, and what runs where?
  windtunnel run mine.toml                   run it and show the results
  windtunnel run mine.toml --set client.rate=2M
  windtunnel compare a.toml b.toml           is b faster than a?

See 'windtunnel COMMAND --help' for the options and examples of a command."""

app = typer.Typer(
    name="windtunnel",
    cls=Commands,
    help="Put a data plane in the wind tunnel before it flies.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,  # what is left is a fault of ours: its plain traceback belongs in a report
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(task: str, *commands: Callable[..., Any], name: str | None = None) -> None:
    for command in commands:
        add = app.command(name, cls=Command, rich_help_panel=task, **of_docstring(command.__doc__))
        add(command)


def _add_group(name: str, help_: str, task: str, *commands: Callable[..., Any]) -> None:
    """A command with commands below it."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for command in commands:
        group.command(
            command.__name__.removesuffix("_").replace("_", "-"), cls=Command, **of_docstring(command.__doc__)
        )(command)
    app.add_typer(group, name=name, help=help_, short_help=help_.removesuffix("."), rich_help_panel=task)


def _of_parts(group: str) -> list[Any]:
    """The commands that parts add to a group; of MODEL their own groups, each with its name and help."""
    return [command for part in part_modules("commands") for command in getattr(part, group, ())]


def _version(requested: bool) -> None:
    if not requested:
        return
    from windtunnel.cli.version import show_version

    show_version()
    raise typer.Exit


_add(PREPARE, init, check, handlers, wires, *_of_parts("PREPARE"), schema)
_add_group("host", "Check this machine, its states and its caches.", PREPARE, doctor, state, ladder, *_of_parts("HOST"))
_add(MEASURE, run, monitor, show, compare, calibrate, history, search, study, *_of_parts("MEASURE"))
_add(MEASURE, query, name="study query")
for name, help_, commands in _of_parts("MODEL"):
    _add_group(name, help_, MODEL, *commands)
_add(EXCHANGE, export)
_add_group("import", "Import files of other tools, or an exported run.", EXCHANGE, *_of_parts("IMPORT"), testpmd, run_)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the versions and exit.")
    ] = False,
) -> None:
    """Options of every command."""
