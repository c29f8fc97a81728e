"""A tenant's processes and threads, as the file names them. The daemon, the processes that it started and its parents cannot be tenants."""

import os
import pwd
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from pathlib import Path

from windtunnel.api.errors import UserError
from windtunnel.api.files import walk_whole
from windtunnel_sharing import threads
from windtunnel_sharing.daemon import command_lines, tenant_file
from windtunnel_sharing.daemon.keys import BadValue, TenantKeys
from windtunnel_sharing.daemon.tenant_file import user_name
from windtunnel_sharing.rounds import MOST, YOUNG_S

MAX_PIDFILE_BYTES = 64
CLOCKS_NS = 100_000_000
"""Times of files and of processes are of clocks that tick."""
MOST_GROUPS = 512
"""Cgroups within a tenant's: whom they were delegated to may make any number, and nobody is served while they are looked at."""
MOST_PROCESSES = 4096
"""Of one tenant: for each some files are read in every look."""
SYSTEMD = ("", "name=systemd")
"""Hierarchies in which systemd has its units: v2, else its own of v1."""
USERS = "user.slice"
MOST_NAMED = 8
"""Processes that a message names."""


@dataclass(frozen=True)
class Found:
    """A tenant that is there. `pid`: its process, of several the oldest, and its start, by which it is told from a later one of its number.
    `groups`: directories of the cgroup that has them all."""

    pid: int
    started: int
    groups: tuple[Path, ...] = ()

    @property
    def lives(self) -> bool:
        return threads.process_started(self.pid) == self.started


def find(keys: TenantKeys, base: Path) -> Found | None:
    """None where there is no process at the moment. `base` is the directory of the file.

    Raises UserError where there are several to choose from, and for one that cannot be a tenant.
    """
    if keys.cgroup is not None or keys.unit is not None:
        groups = _groups_of(keys)
        pids = _pids_in(keys.name, groups)
        starts = _not_ours(
            keys.name, {pid: started for pid in pids if (started := threads.process_started(pid)) is not None}
        )
        oldest = min(starts, key=lambda pid: (starts[pid], pid), default=None)
        return None if oldest is None else Found(oldest, starts[oldest], groups)
    pid, owner, written_ns = keys.pid, user_of(keys), None
    if keys.pidfile is not None:
        pid, owner, written_ns = _in_file(keys.name, base / keys.pidfile, owner)
    elif keys.command is not None:
        owner = os.geteuid() if owner is None else owner
        pid = _commanded(keys.name, keys.command, owner)
    found = threads.process_stat(pid) if pid else None
    if pid is None or found is None:
        return None
    if written_ns is not None and _day_ns(found.started) > written_ns + CLOCKS_NS:
        raise BadValue(
            f"{keys.name}: process {pid} began after {base / str(keys.pidfile)} was written, or the clock was set since: the number was another "
            "process's then",
            "if the clock was set, start the program again; else a pidfile that its program removes at its end, or unit = ...",
        )
    if owner is not None and found.user != owner:
        raise BadValue(
            f"{keys.name}: process {found.pid} is of user {user_name(found.user)}, not of {user_name(owner)}",
            "user = ...",
        )
    if found.kernel:
        raise BadValue(f"{keys.name}: {pid} is a thread of the kernel, which cannot be a tenant", "name a process")
    if found.pid != pid:
        raise BadValue(f"{keys.name}: {pid} is a thread of process {found.pid}", f"pid = {found.pid}")
    return Found(pid, found.started) if _not_ours(keys.name, {pid: found.started}) else None


def user_of(keys: TenantKeys) -> int | None:
    """Whose process it must be, as far as `user` says. Raises BadValue if this host has no such user."""
    if keys.user is None:
        return None
    try:
        number = keys.user.isascii() and keys.user.isdecimal()
        return int(keys.user) if number else pwd.getpwnam(keys.user).pw_uid
    except KeyError:
        words = f'{keys.name}: no user "{keys.user}" on this host'
        raise BadValue(words, "a name or a number, as `id` shows them") from None


def processes_of(found: Found, keys: TenantKeys, known: Mapping[int, int]) -> dict[int, int]:
    """The processes of a tenant that is there, each with its start. Of a cgroup: those in it, those of `known` that live, and their
    children, since a shield of v2 takes them out of the cgroup; beside `known`, those that are older than YOUNG_S. Raises UserError as `find`,
    and for more than MOST_PROCESSES."""
    if not found.groups:
        return dict(known) or _not_ours(keys.name, {found.pid: found.started})
    latest = threads.ticks_now() - (int(YOUNG_S * threads.TICKS) if known else 0)
    starts: dict[int, int] = {}

    def is_old(pid: int) -> bool:
        started = threads.process_started(pid)
        if started is None or (started > latest and known.get(pid) != started):
            return False
        starts[pid] = started
        return True

    children_of = threads.children()
    pids = _pids_in(keys.name, found.groups) | known.keys()
    its = threads.with_children(filter(is_old, pids), lambda pid: filter(is_old, children_of(pid)))
    some = list(islice(its, MOST_PROCESSES + 1)) if len(pids) <= MOST_PROCESSES else pids
    if len(some) > MOST_PROCESSES:
        raise UserError(
            f"{keys.name}: it has more than {MOST_PROCESSES:,} processes", "name one of them, or its cgroup"
        )
    return _not_ours(keys.name, {pid: starts[pid] for pid in some})


def tids_of(pids: Iterable[int], pattern: str, known: dict[int, bool]) -> tuple[int, ...]:
    """Threads of processes whose name matches. `known` remembers for each thread whether it does, and is changed in place: one that does is asked
    once. Of those that do not, some are asked again in each look, in turn, since a thread may name itself late. The first of a process may have
    ended, and is still there."""
    all_ = [(pid, tid) for pid in pids for tid in threads.threads_of(pid)]
    now = [tid for pid, tid in all_ if tid != pid or threads.started(tid)]
    for gone in known.keys() - set(now):
        del known[gone]
    others = islice((tid for tid, matches in known.items() if not matches), MOST)
    for tid in [*others, *(tid for tid in now if tid not in known)]:
        known.pop(tid, None)  # behind the others, which come before it the next time
        known[tid] = pattern == "*" or fnmatchcase(threads.name(tid), pattern)
    return tuple(tid for tid in now if known[tid])


def others_commanded(keys: TenantKeys) -> str | None:
    """A process with the text of `command` that is passed over because it is another user's, in words: everybody may start one."""
    if keys.command is None or keys.user is not None:
        return None
    unknown = "whether a process of another user has the text of command is not known"
    users = {pid: user for pid in threads.pids() if (user := _real_user(pid)) is not None and user != os.geteuid()}
    try:
        pid = next(iter(_having(keys.command, users, None)), None)
    except command_lines.NotRead as kept:
        return f"{unknown}: {_not_read(kept.pid)}"
    except UserError as error:
        return f"{unknown}: {error.message}"
    if pid is None:
        return None
    named = user_name(users[pid])
    return f'process {pid} of user {named} has the text of command: user = "{named}" would take it'


def _commanded(name: str, command: str, owner: int) -> int | None:
    """The process of that user with the text. Those of others are not read: anybody may start many with long command lines."""
    try:
        found = _having(command, [pid for pid in threads.pids() if _real_user(pid) == owner], owner)
    except command_lines.NotRead as kept:
        raise UserError(f"{name}: {_not_read(kept.pid)}", "pid = ...") from None
    if found:
        mine = _family()
        found = [pid for pid in found if pid not in mine]
    if len(found) > 1:
        raise UserError(
            f'{name}: several processes have "{command}" in their command line: {_named(found)}', "pid = ..."
        )
    return found[0] if found else None


def _having(text: str, pids: Iterable[int], user: int | None) -> list[int]:
    return [pid for pid, line in command_lines.read(pids, user).items() if text in line]


def _not_read(pid: int) -> str:
    return f"process {pid} keeps its command line from being read"


def _groups_of(keys: TenantKeys) -> tuple[Path, ...]:
    """Raises UserError where several cgroups have the name of the unit. Units of users' own managers do not count."""
    mounted = threads.mounts()
    if keys.cgroup is not None:
        return tuple(group for mount in mounted.values() if (group := mount / keys.cgroup[1:]).is_dir())
    hierarchy = next((name for name in SYSTEMD if name in mounted and any(mounted[name].glob("*.slice"))), None)
    if hierarchy is None:
        raise UserError(f"{keys.name}: there are no units, because systemd does not run here", 'cgroup = "/..."')
    found: dict[Path, int] = {}
    for pid in threads.pids():
        parts = _system_unit(_cgroup(pid, hierarchy))
        if keys.unit in parts:
            found.setdefault(mounted[hierarchy].joinpath(*parts[: parts.index(keys.unit) + 1]), pid)
    if len(found) > 1:
        where = ", ".join(f"{group} (process {pid})" for group, pid in found.items())
        raise UserError(f"{keys.name}: several units are called {keys.unit}: {where}", 'cgroup = "/..."')
    return tuple(found)


def _system_unit(cgroup: str) -> list[str]:
    """The slices and the unit of the system's manager in a path; none for units of a user's manager. What is within a unit may be delegated,
    and has names that its user chose."""
    _, *parts = cgroup.split("/")
    slices = list(takewhile(lambda part: part.endswith(".slice"), parts))
    return [] if USERS in slices else parts[: len(slices) + 1]


def _not_ours(name: str, starts: Mapping[int, int]) -> dict[int, int]:
    """Of processes with their starts those that live, without threads of the kernel. Raises UserError where the daemon is among them."""
    living = {
        pid: started
        for pid, started in sorted(starts.items())
        if (found := threads.process_stat(pid)) and found.started == started and not found.kernel
    }
    if mine := sorted(_family() & living.keys()) if living else []:
        raise BadValue(
            f"{name}: process {_named(mine)} is this daemon, or was started by it, or has started it",
            "name the tenant by its pid, or in a cgroup of its own",
        )
    return living


def _family() -> set[int]:
    """This process, with the guardian, slicers and whatever else it started, and those that started it."""
    return {*threads.with_children([me := os.getpid()], threads.children()), *_ancestors(me)}


def _ancestors(pid: int) -> Iterator[int]:
    while (found := threads.process_stat(pid)) is not None and found.parent:
        pid = found.parent
        yield pid


def _in_file(name: str, path: Path, owner: int | None) -> tuple[int | None, int | None, int | None]:
    """The number in it, whose process it may be, and when it was written: who may write the file names a process of their own. No number if
    there is none, or no file: reading a FIFO would wait for ever. Raises BadValue as `tenant_file.read`."""
    try:
        found = tenant_file.read(name, path, owner, MAX_PIDFILE_BYTES)
        return int(found.text.split()[0]), found.owner, found.written_ns
    except (OSError, ValueError, IndexError):
        return None, owner, None


def _day_ns(ticks: int) -> int:
    """A time since boot by the clock of the day, which may have been set meanwhile."""
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME) + ticks * 10**9 // threads.TICKS


def _pids_in(name: str, groups: Iterable[Path]) -> set[int]:
    """Processes of these cgroups and of those within; those of another pid namespace are 0, and not among them. Raises UserError where there
    are too many cgroups within, or some too deep."""
    found: set[int] = set()
    for group in groups:
        for count, (where, _, _) in enumerate(walk_whole(group)):
            if count > MOST_GROUPS:
                raise UserError(f"{name}: {group} has more than {MOST_GROUPS} cgroups within", "name one of those")
            try:
                found |= {int(line) for line in (where / "cgroup.procs").read_text().split()}
            except OSError:  # removed meanwhile, or threaded: then its processes are in a group above
                continue
    return found - {0}


def _cgroup(pid: int, hierarchy: str) -> str:
    try:
        return threads.cgroups_of(pid).get(hierarchy, "")
    except OSError:
        return ""


def _real_user(pid: int) -> int | None:
    """None also for one that is hidden from us, which is nobody's that we look for."""
    try:
        return threads.user(pid)
    except OSError:
        return None


def _named(pids: list[int]) -> str:
    return ", ".join(map(str, pids[:MOST_NAMED]))
