"""`windtunnel share restore`: does by hand what the guardian process does."""

from pathlib import Path
from typing import Annotated

import typer


def restore(
    journals: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[JOURNAL]...",
            help="Journals to restore from. Default: all in the runtime directory.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Restore the threads of tenants after the process that shared them and its guardian were both killed.

    Restores affinity, policy, priority, nice value, slice and cgroup. Threads that have ended are skipped. Settings that a thread
    has changed itself meanwhile stay. A journal that a running process holds is left alone.

    windtunnel share restore
    windtunnel share restore /run/windtunnel/mine.journal
    """
    from windtunnel.errors import UserError
    from windtunnel.sharing import changed_threads

    in_use = []
    if journals:
        for path in journals:
            if not path.is_file() or path.suffix != changed_threads.SUFFIX:
                raise UserError(
                    f"{path}: not a journal (*{changed_threads.SUFFIX})",
                    remedy=f"without arguments: all in {changed_threads.directory()}",
                )
    found = journals or sorted(changed_threads.directory().glob(f"*{changed_threads.SUFFIX}"))
    for path in found:
        try:
            count, notes = changed_threads.restore(path)
        except UserError as error:
            in_use.append(f"{error.message}; {error.remedy}" if error.remedy else error.message)
            continue
        print(f"{path}: {count} thread{'' if count == 1 else 's'} restored")
        for line in notes:
            print(f"  {line}")
    if not found:
        print(f"no journals in {changed_threads.directory()}")
    if in_use:
        raise UserError("\n".join(in_use))
