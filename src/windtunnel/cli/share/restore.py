"""`windtunnel share restore`: by hand what the guardian does when nobody killed it."""

from pathlib import Path
from typing import Annotated

import typer


def restore(
    journals: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[JOURNAL]...", help="Without: all in the runtime directory.", show_default=False),
    ] = None,
) -> None:
    """Put every thread that was shared back as it was, after whoever shared it was killed together with its guardian.

    Affinity, policy, priority, nice, slice and cgroup. A thread that has ended is passed over, also where its number is another's
    by now; what a thread has chosen for itself meanwhile stays. A journal whose holder lives is left alone.

    windtunnel share restore
    windtunnel share restore /run/windtunnel/mine.places
    """
    from windtunnel.errors import UserError
    from windtunnel.sharing import places

    held = []
    if journals:
        for path in journals:
            if not path.is_file() or path.suffix != places.SUFFIX:
                raise UserError(
                    f"{path}: no journal (*{places.SUFFIX})", remedy=f"without a name: all in {places.directory()}"
                )
    found = journals or sorted(places.directory().glob(f"*{places.SUFFIX}"))
    for path in found:
        try:
            count, said = places.restore(path)
        except UserError as error:
            held.append(f"{error.message}; {error.remedy}" if error.remedy else error.message)
            continue
        print(f"{path}: {count} thread{'' if count == 1 else 's'} put back")
        for line in said:
            print(f"  {line}")
    if not found:
        print(f"nothing to put back in {places.directory()}")
    if held:
        raise UserError("\n".join(held))
