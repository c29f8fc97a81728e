"""The options `--side` and `--wait` of `run` and `check`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.scenario import OneSide

# In the order of all such types: Python keeps one object for equal ones, and --help would show the order that was imported first.
SideOption = Annotated[
    Literal["client", "server"] | None,
    typer.Option(
        "--side",
        help="Run only this side here. The other side runs from the same file in another process or on another host.",
        show_default="both sides",
    ),
]


def one_side(side: Literal["client", "server"] | None, wait: str | None = None) -> "OneSide | None":
    """The side from the options. Raises UserError."""
    from windtunnel.errors import UserError
    from windtunnel.scenario import OneSide
    from windtunnel.scenario.quantities import option

    if side is None:
        if wait is not None:
            raise UserError("--wait has no effect without --side", remedy="--side server, or --side client")
        return None
    if wait is None:
        return OneSide(side)
    return OneSide(side, int(option("--wait", "duration", wait, "1s", "24h")))
