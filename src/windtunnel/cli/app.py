"""The commands, registered. Each imports what it needs when it runs."""

import inspect
from typing import Annotated

import typer

from windtunnel.cli import model
from windtunnel.cli.check import check
from windtunnel.cli.compare import compare
from windtunnel.cli.doctor import doctor
from windtunnel.cli.export import export
from windtunnel.cli.handlers import handlers
from windtunnel.cli.host import ladder
from windtunnel.cli.imports import axio, run_, testpmd
from windtunnel.cli.init import init
from windtunnel.cli.pcie import estimate, nics
from windtunnel.cli.query import query
from windtunnel.cli.run import run
from windtunnel.cli.search import search
from windtunnel.cli.share.advise import advise
from windtunnel.cli.share.ask import list_, set_, watch
from windtunnel.cli.share.fit import fit as fit_sharing
from windtunnel.cli.share.probe import probe
from windtunnel.cli.share.restore import restore
from windtunnel.cli.share.serve import serve
from windtunnel.cli.share.simulate import simulate
from windtunnel.cli.share.study import study as share_study
from windtunnel.cli.show import show
from windtunnel.cli.study import study


def _version(asked: bool) -> None:
    if not asked:
        return
    from windtunnel.cli.version import show_version

    show_version()
    raise typer.Exit


def _help(text: str) -> str:
    """A paragraph of example commands keeps its lines; typer would join them."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(f"\b{p}" if p.startswith("windtunnel ") else p for p in paragraphs)


INTRODUCTION = """Put a data plane in the wind tunnel before it flies.

A scenario says what is emulated; a run leaves a directory with its numbers, its log and a report.

windtunnel doctor                     is this machine fit to measure on?
windtunnel init echo mine.toml        begin a scenario of your own
windtunnel check scenarios/echo.toml  is it right, and what goes where?
windtunnel run scenarios/echo.toml    fly it
windtunnel show                       see the latest run again
windtunnel compare A B                is one of two faster?
windtunnel search FILE                the highest rate that it carries
windtunnel study FILE                 fly it over factors: cores, batches, sizes
windtunnel pcie estimate RUN          what a PCIe link would carry of it
windtunnel handlers                   what a scenario can emulate
windtunnel import axio FILE           a configuration or a log of Axio
"""

app = typer.Typer(
    name="windtunnel",
    help=_help(INTRODUCTION),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # what is left is a fault of ours: its plain traceback belongs in a report
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (init, run, check, show, compare, study, query, search, export, handlers, doctor):
    app.command(help=_help(command.__doc__))(command)

imports = typer.Typer(
    help="Turn what other tools wrote into scenarios and runs, and exported runs back into run directories.",
    no_args_is_help=True,
)
for command in (axio, testpmd, run_):
    imports.command(command.__name__.removesuffix("_"), help=_help(command.__doc__))(command)
app.add_typer(imports, name="import")

host = typer.Typer(help="Measure what this machine is made of.", no_args_is_help=True)
host.command("ladder", help=_help(ladder.__doc__))(ladder)
app.add_typer(host, name="host")

models = typer.Typer(help="Fit models to studies, ask them, and see how wrong they are.", no_args_is_help=True)
for command in (model.fit, model.predict, model.check):
    models.command(command.__name__, help=_help(command.__doc__))(command)
app.add_typer(models, name="model")

pcie = typer.Typer(help="Estimate what packets move over a PCIe link, and where it is full.", no_args_is_help=True)
for command in (estimate, nics):
    pcie.command(help=_help(command.__doc__))(command)
app.add_typer(pcie, name="pcie")

share = typer.Typer(help="Many poll-mode tenants on few cores.", no_args_is_help=True)
for command in (advise, fit_sharing, probe, restore, simulate, share_study, serve, list_, set_, watch):
    share.command(command.__name__.removesuffix("_"), help=_help(command.__doc__))(command)
app.add_typer(share, name="share")


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the versions and exit.")
    ] = False,
) -> None:
    """Options of every command."""
