"""The command line in the tests' own process."""

from functools import cache

from click.testing import CliRunner, Result
from typer.main import get_command

from windtunnel.cli.app import app

command_of = cache(get_command)
"""Of a typer application, made once: typer takes eight times as long to make it as a small command takes to run."""


def run(*words: object, **environment: str) -> Result:
    """What a command came to; its `exception` is a UserError where the user is told what is wrong."""
    return CliRunner().invoke(command_of(app), [*map(str, words)], env=environment)
