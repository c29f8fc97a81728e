"""`--side` and `--wait`, as `run` and `check` take them."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from windtunnel.scenario import Alone

SideOption = Annotated[
    Literal["server", "client"] | None,
    typer.Option("--side", help="Fly only this side; the other one is flown elsewhere from the same file."),
]


def alone(side: Literal["server", "client"] | None, wait: str | None = None) -> "Alone | None":
    """What the options say. Raises UserError."""
    from windtunnel.errors import UserError
    from windtunnel.scenario import Alone
    from windtunnel.scenario.quantities import Quantity

    if side is None:
        if wait is not None:
            raise UserError("--wait: nobody is waited for", remedy="--side server, or --side client")
        return None
    if wait is None:
        return Alone(side)
    try:
        return Alone(side, int(Quantity("duration", "1s", "24h").read(wait)))
    except ValueError as error:
        raise UserError(f"--wait: {error}", remedy="as in --wait 5min") from None
