"""The command line in the tests' own process."""

from functools import cache

import click
from click.testing import CliRunner, Result
from typer.main import get_command

from windtunnel.cli.app import app


@cache
def _command() -> click.Command:
    """Made once: typer takes eight times as long to make it as a small command takes to run."""
    return get_command(app)


def run(*words: object, **environment: str) -> Result:
    """What a command came to; its `exception` is a UserError where the user is told what is wrong."""
    return CliRunner().invoke(_command(), [*map(str, words)], env=environment)
