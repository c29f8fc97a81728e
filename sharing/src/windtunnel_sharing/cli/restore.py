"""`windtunnel share restore`: does by hand what the guardian and the sweeper do."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def restore(
    journals: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[JOURNAL]...",
            help="Journals to restore from. Default: all in the runtime directory, and those of daemons with their own state directory.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Restore the threads of tenants after the process that shared them and its guardian were both killed.

    Restores affinity, policy, priority, nice value, slice, timer slack and cgroup, and removes the shields and cpusets of processes that have ended; a thread that is still in one leaves it.
    Threads that have ended are skipped. Settings that a thread has changed itself meanwhile stay. A journal that a running process holds is left alone; so
    is one of another user, or in a directory that others may write. Exit code 2: something could not be restored.

    It runs before tenants once it has begun. If tenants that poll leave it no CPU to begin on, start it as a real-time process: `chrt -f 2`.

    windtunnel share restore
    windtunnel share restore /run/windtunnel/mine.journal
    """
    from windtunnel.api.errors import UserError
    from windtunnel_sharing import journal
    from windtunnel_sharing.before_tenants import before_tenants

    for path in journals or ():
        if path.suffix != journal.SUFFIX:
            raise UserError(
                f"{path}: not a journal (*{journal.SUFFIX})",
                remedy=f"without arguments: all in {journal.directory()}",
            )
    with before_tenants():
        refused = _restore(journals)
    if refused:
        raise UserError("\n".join(refused))


def _restore(journals: list[Path] | None) -> list[str]:
    """Prints what was done, and returns words about what could not be restored."""
    from windtunnel.api.errors import UserError, in_words
    from windtunnel.api.host import places
    from windtunnel_sharing import journal, left_behind
    from windtunnel_sharing.daemon.lock import default_directory, tidy

    paths = journals or left_behind.journals()
    refused = []
    directories = {default_directory()}
    for path in paths:
        try:
            with in_words():  # whatever is wrong with one, the others are restored
                done = left_behind.restore(path)
            directories.add(path.parent)
        except UserError as error:
            if journals or path.exists():  # else it was restored from meanwhile
                refused.append(f"{error.message}; {error.remedy}" if error.remedy else error.message)
            continue
        print(
            f"{path}: {done.threads} thread{'' if done.threads == 1 else 's'} {'read' if done.failed else 'restored'}"
        )
        for line in done.said:
            print(f"  {line}")
        if done.failed:
            refused.append(f"{path}: not everything could be restored; the journal is kept: try again with more rights")
    if not paths:
        print(f"no journals in {journal.directory()}")
    refused += _remove_groups()
    for directory in directories:
        if directory.exists():
            tidy(directory)
    places.remove_all_stale()
    return refused


def _remove_groups() -> list[str]:
    """Prints what was done, and returns words about those that stay. Who is in one and in no journal is moved out."""
    from windtunnel_sharing import threads
    from windtunnel_sharing.pools import cgroups, cpusets
    from windtunnel_sharing.pools.shield import clean, evacuate, left_behind

    root = cgroups.find()
    hierarchies = [] if isinstance(root, cgroups.Nowhere) else [root]
    if (mount := threads.mounts().get(cpusets.KEY)) is not None:
        hierarchies.append(cgroups.Hierarchy(1, mount, cpusets.KEY))
    refused = []
    for hierarchy in hierarchies:
        removed = clean(hierarchy)
        for group in _mine(left_behind(hierarchy)):
            for tid in evacuate(hierarchy, group):
                print(f"thread {tid}: moved from {group} to {hierarchy.mount}: no journal says where it was")
        for group in removed + clean(hierarchy):
            print(f"{group}: removed")
        refused += [
            f"{group}: cannot be removed: threads are in it ({group}/tasks, or cgroup.threads)"
            for group in _mine(left_behind(hierarchy))
        ]
    return refused


def _mine(groups: list[Path]) -> list[Path]:
    mine = []
    for group in groups:
        with suppress(FileNotFoundError):  # its sweeper removes it
            if group.stat().st_uid == os.geteuid():
                mine.append(group)
    return mine
