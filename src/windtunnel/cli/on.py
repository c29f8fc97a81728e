"""`--on`: the executor of a command that does not run on this host.

It comes from a part, by its module `on_option`, or from another package, by an entry point: `--on NAME://...` is for the executor with this
name in the group "windtunnel.executors". Both bring a function as `opened` of `on_option`: from the value, the most testbeds at a time and
a function that shows a line, it makes a context manager with an `Executor`.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.extensions import refuse
from windtunnel.errors import UserError
from windtunnel.part_registry import part_modules

if TYPE_CHECKING:
    from windtunnel.measure.executor import Executor

GROUP = "windtunnel.executors"
PLACES = ", or on ".join(part.HELP for part in part_modules("on_option"))

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="TESTBEDS",
        help=f"Run on {PLACES or 'other hosts, by the executor of another package: NAME://ADDRESS'}.",
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
    from windtunnel.results.terminal.console import progress

    def say(text: str) -> None:
        progress().print(text, style="yellow", soft_wrap=True)

    point = _entry_point(on)
    with ExitStack() as stack:
        try:
            chosen = stack.enter_context(point.load()(on, most, say))
        except ModuleNotFoundError as error:
            refuse("--on", point, error)
        yield chosen


def _entry_point(on: str) -> EntryPoint:
    """The executor of another package, if the value names it; else that of a part. Raises UserError if there is none."""
    name, separator, _ = on.partition("://")
    points = list(entry_points(group=GROUP, name=name)) if separator else []
    for part in part_modules("on_option"):
        points.append(EntryPoint(part.EXTRA, f"{part.__name__}:opened [{part.EXTRA}]", GROUP))
    if not points:
        raise UserError(
            f"--on {on}: this installation has no executor for other hosts",
            remedy=f'leave out --on, or install a package with an executor: an entry point of the group "{GROUP}"',
        )
    return points[0]
