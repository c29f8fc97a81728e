"""`--on`: the executor of a command that does not run on this host."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.extensions import refuse
from windtunnel.errors import UserError

if TYPE_CHECKING:
    from windtunnel.measure.executor import Executor

GROUP, NAME = "windtunnel.executors", "fleet"

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="FLEET",
        help="Run on a fleet: ray://HOST:PORT, HOST:PORT or auto of a Ray cluster, or a fleet file.",
        show_default="this host",
    ),
]


@contextmanager
def executor(on: str | None, most: int | None = None) -> Iterator["Executor | None"]:
    """The executor that --on names, while the context lasts; None: this host. `most`: testbeds at a time; None: all of them. Raises UserError if
    it cannot be used."""
    if on is None:
        yield None
        return
    point = next(iter(entry_points(group=GROUP, name=NAME)), None)
    if point is None:
        from windtunnel.engine.find import to_install

        raise UserError("--on: this installation has no fleets", remedy=to_install("fleet"))
    from windtunnel.results.terminal.console import progress

    def say(text: str) -> None:
        progress().print(text, style="yellow", soft_wrap=True)

    with ExitStack() as stack:
        try:
            chosen = stack.enter_context(point.load()(on, most, say))
        except ModuleNotFoundError as error:
            refuse("--on", point, error)
        yield chosen
