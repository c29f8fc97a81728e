"""Continuing what another user began: the option and the question of commands that go on in a directory."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from windtunnel.measure.study.seal import BegunElsewhere

FromElsewhere = Annotated[
    bool,
    typer.Option(
        "--from-elsewhere", help="Continue what another user began, without a question: it runs with your rights."
    ),
]


def agree(begun: "BegunElsewhere") -> None:
    """Asks whether to continue what another user began. Raises `begun` if there is no terminal, and Exit for a no."""
    from windtunnel.engine.verdict import REFUSED
    from windtunnel.results.terminal.messages import show_warning

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise begun
    show_warning(begun.message)
    if not typer.confirm("Run it as you?", err=True):
        raise typer.Exit(REFUSED)
