"""Holders of journals, killed after any of their steps, in any order: what is restored at the end is how the threads ran at the beginning.

In process: a kernel of three threads, and files whose every write may be the last one, or be refused by a full disk.
"""

import errno
import os
from collections.abc import Callable, Container
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from journal_tools import left_in

from windtunnel.errors import UserError
from windtunnel_sharing import journal, left_behind, sched, threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.threads import Process, Stat

SOFTIRQ, TENANT, OTHER = 14, 100, 200
"""Threads that nobody kills: the kernel's softirq thread, which each holder raises, and tenants."""
RAISED, ORDINARY = (sched.FIFO, 1, 0), (sched.OTHER, 0, 0)
GROUP = "cgroup cpu"
AS_IT_WAS: dict[int, threads.Fields] = {
    SOFTIRQ: {"policy": ORDINARY, "nice": 0, "affinity": (1,), GROUP: "/"},
    TENANT: {"policy": (sched.BATCH, 0, 0), "nice": 3, "affinity": (0, 1), GROUP: "/a"},
    OTHER: {"policy": ORDINARY, "nice": 0, "affinity": (0,), GROUP: "/"},
}
STEPS = 40
"""More than any life has."""


class Killed(BaseException):
    """The holder is no more: nothing that it does afterwards has an effect."""


class Machine:
    """Threads, living processes, and the step after which the present holder is killed, or has no room on the disk."""

    def __init__(self):
        self.threads = {tid: dict(fields) for tid, fields in AS_IT_WAS.items()}
        self.holder = 1000
        self.left = STEPS
        self.full: Container[int] = ()
        """The writes of the present holder that find no room, by their numbers."""
        self.writes = 0

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def begin(self, steps: int) -> None:
        self.holder += 1
        self.left = steps
        self.writes = 0

    def started(self, pid):
        return 1 if pid in self.threads or pid == self.holder else None

    def stat(self, pid):
        return Stat(pid, 0, 1, False) if self.started(pid) else None

    def read(self, tid):
        return dict(self.threads[tid])

    def write(self, tid, fields):
        for name, value in fields.items():
            self.step()
            self.threads[tid][name] = value

    def write_file(self, fd, text):
        """The half of it, where the holder is killed in the middle, or the disk is full."""
        try:
            self.step()
        except Killed:
            if self.left == -1:
                os.write(fd, text[: len(text) // 2])
            raise
        self.writes += 1
        if self.writes - 1 in self.full:
            os.write(fd, text[: len(text) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.write(fd, text)


@contextmanager
def machine():
    made = Machine()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Process, "of", classmethod(lambda cls, pid: Process(made.holder, 1)))
        patched.setattr(Process, "stays", property(lambda process: process.pid == made.holder))
        for name in ("started", "stat", "read", "write"):
            patched.setattr(threads, name, getattr(made, name))
        patched.setattr(left_behind, "SETTLE_S", 0)  # nobody's fork or call has begun here
        patched.setattr(left_behind, "before_tenants", nullcontext)  # nor does anybody else run
        patched.setattr(threads, "check", made.stat)
        patched.setattr(threads, "check_policy", lambda tid: None)
        patched.setattr(threads, "children", lambda: lambda pid: [])
        patched.setattr(threads, "threads_of", lambda pid: [pid])
        patched.setattr(threads, "within", lambda hierarchy, path: [])
        patched.setattr(threads, "ticks_now", lambda: 5)
        patched.setattr(journal, "_write", made.write_file)
        for name in ("rename", "unlink", "ftruncate"):
            patched.setattr(os, name, stepping(made, getattr(os, name)))
        yield made


def stepping(made: Machine, call: Callable) -> Callable:
    def stepped(*arguments, **how):
        made.step()
        return call(*arguments, **how)

    return stepped


def shares(name: str, tenants: tuple[int, ...], end: str = "one by one") -> Callable[[Machine], None]:
    """A life of a holder: it restores what others left, raises the softirq thread, shares tenants, and lets all go again, one by one or at
    once, if it is not killed."""

    def life(made: Machine) -> None:
        left_behind.restore_all(lambda line: None)
        mine = Journal(journal.directory() / name)
        with suppress(UserError):
            mine.change(SOFTIRQ, policy=RAISED)
        for tid in tenants:
            with suppress(UserError):
                mine.allow(tid, policy=[ORDINARY, RAISED])
                mine.change(tid, {"cpu": f"/ours-of-{name}"}, affinity=(1,), nice=-1, policy=ORDINARY)
                made.write(tid, {"policy": RAISED})  # as the slicer does, which has ended when its holder has
        if end == "killed":
            raise Killed
        for tid in (*tenants, SOFTIRQ) if end == "one by one" else ():
            mine.put_back(tid)
        mine.close()

    return life


def restores(made: Machine) -> None:
    """The guardian of each, or `share restore`."""
    for path in left_behind.journals():
        left_behind.restore(path)


def restores_the_other_way_round(made: Machine) -> None:
    for path in reversed(left_behind.journals()):
        left_behind.restore(path)


LIVES = {
    "daemon": shares("share/share.journal", (TENANT, OTHER)),
    "killed daemon": shares("share/share.journal", (TENANT, OTHER), "killed"),
    "probe": shares("probe-cpu1.journal", (), "at once"),
    "killed probe": shares("probe-cpu1.journal", (), "killed"),
    "figure": shares("figure-7.journal", (OTHER,), "at once"),
    "killed figure": shares("figure-7.journal", (OTHER,), "killed"),
    "restore": restores,
    "restore backwards": restores_the_other_way_round,
}


def lived(directory: Path, lives: list[tuple[str, int]], full: Container[int] = ()) -> Machine:
    """The machine after these lives, each killed after so many steps, and after a restore that nobody kills. `full`: the writes of the last
    life that find no room."""
    with machine() as made, pytest.MonkeyPatch.context() as patched:
        patched.setattr(journal, "directory", lambda: directory)
        for number, (name, steps) in enumerate(lives):
            made.begin(steps)
            made.full = full if number == len(lives) - 1 else ()
            with suppress(Killed, UserError):
                LIVES[name](made)
        made.begin(10**6)
        made.full = ()
        restores(made)
    return made


@given(st.lists(st.tuples(st.sampled_from(sorted(LIVES)), st.integers(0, STEPS)), max_size=4))
@example([("killed daemon", STEPS), ("killed probe", STEPS), ("daemon", STEPS), ("probe", STEPS)])
@example([("killed daemon", STEPS), ("killed figure", STEPS), ("restore backwards", STEPS)])
def test_whoever_is_killed_the_last_restore_finds_everything_as_it_was(tmp_path_factory, lives):
    directory = tmp_path_factory.mktemp("runtime")
    assert lived(directory, lives).threads == AS_IT_WAS
    assert not left_in(directory)


@pytest.mark.parametrize("second", sorted(LIVES))
def test_killed_after_each_step_and_the_next_one_too(tmp_path_factory, second):
    for first in range(STEPS):
        directory = tmp_path_factory.mktemp("runtime")
        lives = [("daemon", first), (second, 7 * first % STEPS), ("probe", STEPS)]
        assert lived(directory, lives).threads == AS_IT_WAS, lives
        assert not left_in(directory), lives


def test_a_life_has_no_more_steps(tmp_path):
    with machine() as made, pytest.MonkeyPatch.context() as patched:
        patched.setattr(journal, "directory", lambda: tmp_path)
        made.begin(STEPS)
        LIVES["daemon"](made)
        assert 0 <= made.left < STEPS // 4, "each step of it is the last one once, and few are none"


@pytest.mark.parametrize("life", sorted(LIVES))
def test_a_disk_that_is_full_loses_nothing_that_is_known(tmp_path_factory, life):
    """At each write alone, and from each write on; what is restored needs no room."""
    for number in range(STEPS // 2):
        for full in ({number}, range(number, STEPS)):
            directory = tmp_path_factory.mktemp("runtime")
            lives = [("killed daemon", 2 * number), (life, STEPS)]
            assert lived(directory, lives, full).threads == AS_IT_WAS, lives
            assert not left_in(directory), lives
