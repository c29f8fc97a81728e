"""Threads are found as they were, whoever is killed in the middle."""

import errno
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sharing_tools import (
    alone_on_this_machine,
    as_before,
    cpu_cgroup,
    needs_rights,
    python_tenant,
    share_restore,
    starting_tenant,
    tenant,
    until,
)

from windtunnel.errors import UserError
from windtunnel.sharing import changed_threads, inherited_changes, journal, sched, threads
from windtunnel.sharing.changed_threads import Journal, Restored, held
from windtunnel.sharing.pools import shield
from windtunnel.sharing.pools.cgroups import Hierarchy
from windtunnel.sharing.pools.shield import PREFIX, own_group
from windtunnel.sharing.slicers.slicer import ORDINARY, RAISED
from windtunnel.sharing.threads import Process

HOLDER = """
import sys, time
from pathlib import Path
from windtunnel.sharing import changed_threads
path, tid, hierarchy, group = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
changed_threads.REST_S = 0.01
journal = changed_threads.Journal(path)
guardian = changed_threads.Guardian(path, lambda line: print(line, flush=True))
print(guardian.pid, flush=True)
journal.change(tid, policy=(1, 7, 0))
journal.change(tid, policy=(0, 0, 0), nice=7, runtime_ns=300_000)
journal.change(tid, affinity=(0,), cgroups={hierarchy: group} if group else None)
"""
STAYS = "print('changed', flush=True)\ntime.sleep(600)"
CLOSES_ITS_FILES = f"import os\nos.close(guardian._write_end)\n{STAYS}"
FORKING = """
import os, sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "60"]), flush=True)
time.sleep(60)
"""
LARGE = """
import time
memory = bytearray(100 << 20)
print(flush=True)
time.sleep(600)
"""
pytestmark = pytest.mark.slow
ALL = set(range(os.cpu_count()))

alone = pytest.fixture(alone_on_this_machine)


def holder(path, tid: int, hierarchy: str = "", group: str = "", end: str = STAYS) -> tuple[subprocess.Popen, int]:
    """A process that has changed a thread, and its guardian."""
    command = [sys.executable, "-c", HOLDER + end, path, str(tid), hierarchy, group]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    guardian = int(process.stdout.readline())
    assert process.stdout.readline() == "changed\n"
    return process, guardian


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdout.close()


@contextmanager
def other_cgroup(name: str, but: str):
    """A cgroup of a hierarchy that we change nothing in: hierarchy and path. Skips in words where there is none to be had."""
    mounted = threads.mounts()
    hierarchy = next((each for each in ("freezer", "pids", "memory") if each in mounted and each != but), None)
    if hierarchy is None:
        pytest.skip("one hierarchy of cgroups alone")
    (mounted[hierarchy] / name).mkdir()
    try:
        yield hierarchy, f"/{name}"
    finally:
        for tid in threads.within(hierarchy, f"/{name}"):
            threads.move(tid, hierarchy, "/")
        (mounted[hierarchy] / name).rmdir()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.journal"


@pytest.fixture
def mine(path):
    """A journal without a guardian."""
    with closing(Journal(path)) as opened:
        yield opened


@pytest.fixture
def one():
    """A process that may be changed."""
    with tenant() as process:
        yield process


@pytest.fixture
def forks():
    """A process, and what makes it start a child and a thread, whose numbers that returns."""
    children = []

    def fork() -> tuple[int, int]:
        process.stdin.write("fork\n")
        children.append(int(process.stdout.readline()))
        (thread,) = set(threads.threads_of(process.pid)) - {process.pid}
        return children[0], thread

    with python_tenant(FORKING) as process:
        yield process, fork
    for child in children:
        os.kill(child, signal.SIGKILL)


def recorded(path, *entries, helpers=(), settings=()):
    """A journal whose holder has ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = journal.Contents(holder=Process(1, 1), helpers=list(helpers), settings=dict(settings))
    contents.entries = {entry.tid: entry for entry in entries}
    journal.File(path, contents).close()
    return path


def entry_of(pid: int, before: dict, ours: dict, earlier: int = 0) -> journal.Entry:
    """Of a living process; with `earlier` (clock ticks) of one that had its number before."""
    found = threads.stat(pid)
    started = found.started - earlier
    return journal.Entry(pid, found.pid, started, started, before, ours=ours)


@contextmanager
def no_room_after(count: int):
    """Files of this process end after so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def default(tmp_path, monkeypatch):
    """The default directory of journals."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    return tmp_path / "run" / "windtunnel"


@needs_rights
class TestKills:
    """Each of a holder or of its guardian, in processes of their own."""

    def test_a_killed_holder_leaves_every_thread_as_it_was(self, path, one):
        with cpu_cgroup("windtunnel-test") as (hierarchy, group):
            os.sched_setaffinity(one.pid, ALL)
            os.setpriority(os.PRIO_PROCESS, one.pid, 3)
            before = {one.pid: threads.read(one.pid)}
            process, _ = holder(path, one.pid, hierarchy, group)
            changed = threads.read(one.pid)
            assert changed["affinity"] == (0,) and changed["nice"] == 7 and changed["cgroup " + hierarchy] == group
            kill(process)
            until(as_before(before))
        until(lambda: not list(path.parent.iterdir()))

    def test_the_guardian_waits_for_a_holder_that_has_closed_its_files_and_is_not_dead_yet(self, path, one):
        before = {one.pid: threads.read(one.pid)}
        process, guardian = holder(path, one.pid, end=CLOSES_ITS_FILES)
        assert not as_before(before)() and threads.stat(guardian)
        kill(process)
        until(as_before(before))
        until(lambda: not list(path.parent.iterdir()))

    def test_a_guardian_that_ends_is_replaced(self, path, one):
        before = {one.pid: threads.read(one.pid)}
        process, guardian = holder(path, one.pid)
        for _ in range(2):
            os.kill(guardian, signal.SIGKILL)
            until(lambda: select.select([process.stdout], [], [], 0)[0])
            said = process.stdout.readline()
            assert "the guardian process ended (SIGKILL)" in said
            guardian = int(said.rpartition("process ")[2].split()[0])
        kill(process)
        until(as_before(before))
        until(lambda: not list(path.parent.iterdir()))

    def test_restore_finds_the_journals_of_daemons_probes_and_reproductions(self, default, alone):
        with tenant() as one, tenant() as two, tenant() as three:
            before = {each.pid: threads.read(each.pid) for each in (one, two, three)}
            names = ("share/share.journal", "probe-cpu1.journal", "figure-7.journal")
            for pid, name in zip(before, names, strict=True):
                process, guardian = holder(default / name, pid)
                code, said = share_restore(default / name)
                assert code == 2 and f"held by process {process.pid}" in said
                os.kill(guardian, signal.SIGSTOP)
                kill(process)
                os.kill(guardian, signal.SIGKILL)
                assert threads.read(pid)["nice"] == 7
            left = default / "share" / "other.journal.new"  # a first journal that was never whole
            left.touch()
            code, said = share_restore()
            assert (code, said.count("1 thread restored")) == (0, 3), said
            assert as_before(before)()
            assert not [path for path in default.rglob("*") if path.is_file()]
            assert share_restore() == (0, f"no journals in {default}\n")


def test_a_guardian_that_ends_with_its_journal_is_not_replaced(path):
    said = []
    with held(path, said.append):
        pass
    assert said == [] and not list(path.parent.iterdir())


@needs_rights
@pytest.mark.parametrize(
    "attributes",
    [
        sched.Attributes(sched.RR, 5, 0, 0, sched.RESET_ON_FORK),
        sched.Attributes(sched.FIFO, 1, 4, 0),
        sched.Attributes(sched.IDLE, 0, 4, 0),
    ],
    ids=["rr", "fifo", "idle"],
)
def test_policy_nice_and_slice_are_put_back(mine, one, attributes):
    """Under a policy that does not show nice and slice too: the kernel takes neither while a thread is SCHED_IDLE or real-time, and has
    them again when it no longer is."""
    sched.put(one.pid, sched.Attributes(sched.OTHER, 0, attributes.nice, 0))
    sched.put(one.pid, attributes)
    before = threads.read(one.pid)
    assert before["policy"] == (attributes.policy, attributes.priority, attributes.flags)
    mine.change(one.pid, policy=(sched.OTHER, 0, 0), nice=9, runtime_ns=850_000)
    assert (sched.get(one.pid).policy, sched.get(one.pid).nice) == (sched.OTHER, 9)
    mine.put_back_all()
    assert threads.read(one.pid) == before
    os.sched_setscheduler(one.pid, os.SCHED_OTHER, os.sched_param(0))
    found = sched.get(one.pid)
    assert (found.nice, found.runtime_ns) == (attributes.nice, sched.default_slice_ns())


@needs_rights
def test_what_a_thread_chose_itself_meanwhile_stays_and_is_said(mine, one):
    mine.change(one.pid, affinity=(0,), nice=5)
    os.setpriority(os.PRIO_PROCESS, one.pid, 9)
    (said,) = mine.put_back(one.pid)
    assert f"thread {one.pid} has changed its nice itself" in said
    assert os.getpriority(os.PRIO_PROCESS, one.pid) == 9 and os.sched_getaffinity(one.pid) == ALL


@needs_rights
@pytest.mark.parametrize("changed_too", [False, True])
def test_threads_and_processes_forked_meanwhile_get_what_their_parent_had(mine, forks, changed_too):
    process, fork = forks
    before = threads.read(process.pid)
    mine.change(process.pid, affinity=(0,), nice=6)
    child, thread = fork()
    assert threads.read(child)["nice"] == threads.read(thread)["nice"] == 6
    if changed_too:
        for tid in (child, thread):
            mine.change(tid, nice=8)
            assert journal.read(mine.path).entries[tid].before == before
        mine.put_back_all()
    else:
        mine.put_back(process.pid)
    assert [threads.read(tid) for tid in (process.pid, child, thread)] == [before] * 3


@needs_rights
def test_what_was_forked_before_the_last_changes_gets_back_what_its_parent_had(path, mine, forks):
    """By the journal, which is all that a killed holder leaves."""
    process, fork = forks
    before = threads.read(process.pid)
    mine.change(process.pid, nice=3)
    forked = fork()
    for nice in (4, 5):
        mine.change(process.pid, nice=nice)
    written = journal.read(path).entries
    inherited_changes.put_back(list(written.values()), written)
    assert [threads.read(tid) for tid in (process.pid, *forked)] == [before] * 3


@needs_rights
def test_what_a_raised_thread_forked_gets_back_the_nice_value_that_the_kernel_took(mine, forks):
    process, fork = forks
    sched.put(process.pid, sched.Attributes(sched.BATCH, 0, -2, 0))
    before = threads.read(process.pid)
    mine.allow(process.pid, policy=[ORDINARY, RAISED])
    threads.write(process.pid, {"policy": RAISED})  # as the slicer does
    forked = fork()
    assert {threads.read(tid)["nice"] for tid in forked} == {0}
    mine.put_back_all()
    assert [threads.read(tid) for tid in (process.pid, *forked)] == [before] * 3


@needs_rights
@pytest.mark.parametrize("killed", [False, True])
def test_what_a_thread_started_by_a_double_fork_gets_back_what_it_had(mine, killed):
    """A killed holder leaves its journal alone."""
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), starting_tenant() as (process, start):
        before = threads.read(process.pid)
        mine.change(process.pid, affinity=(0,), nice=6, cgroups={hierarchy: group})
        orphan = start("orphan")
        changed = threads.read(orphan)
        assert changed["nice"] == 6 and changed[f"cgroup {hierarchy}"] == group
        if killed:
            written = journal.read(mine.path).entries
            inherited_changes.put_back(list(written.values()), written)
        else:
            mine.put_back(process.pid)
        assert threads.read(orphan) == threads.read(process.pid) == before


@needs_rights
@pytest.mark.parametrize("by", ["release", "put back"])
def test_an_orphan_that_may_be_of_several_gets_no_more_than_each_had(mine, by):
    """One of them was SCHED_FIFO, with a nice value below 0 and a cgroup of its own."""
    with (
        cpu_cgroup("windtunnel-test") as (hierarchy, group),
        starting_tenant() as (a, _),
        starting_tenant() as (b, start_b),
    ):
        sched.put(a.pid, sched.Attributes(sched.FIFO, 20, 0, 0))
        os.setpriority(os.PRIO_PROCESS, b.pid, 3)
        most_nice, before_b = max(os.getpriority(os.PRIO_PROCESS, 0), 3), threads.read(b.pid)
        for tid in (a.pid, b.pid):
            mine.change(tid, affinity=(0,), nice=6, policy=(sched.OTHER, 0, 0))
            mine.change(tid, cgroups={hierarchy: group})
        orphan = start_b("orphan")
        if by == "release":
            mine.release(orphan, {hierarchy: "/"})
        else:
            mine.put_back(a.pid)
        assert threads.read(orphan) == before_b | {"nice": most_nice}


@needs_rights
def test_a_cgroup_of_any_name_is_restored(mine, one):
    """A tenant may have one made that is not UTF-8; one line of its journal is not everybody's."""
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), cpu_cgroup(os.fsdecode(b"windtunnel-\xff")) as (_, own):
        threads.move(one.pid, hierarchy, own)
        before = threads.read(one.pid)
        mine.change(one.pid, cgroups={hierarchy: group})
        written = journal.read(mine.path).entries
        assert written[one.pid].before == before
        assert inherited_changes.put_back(list(written.values()), written) == []
        assert threads.read(one.pid) == before
        threads.move(one.pid, hierarchy, "/")


@needs_rights
def test_an_orphan_is_told_by_its_other_cgroups_and_a_child_by_its_parent(mine):
    """Two tenants in one cgroup of ours, with CPUs, nice values and cgroups of their own; the first one leaves."""
    with (
        cpu_cgroup("windtunnel-test") as (hierarchy, group),
        other_cgroup("windtunnel-test", hierarchy) as (other, theirs),
        starting_tenant() as (a, start_a),
        starting_tenant() as (b, start_b),
    ):
        os.setpriority(os.PRIO_PROCESS, a.pid, 2)
        os.setpriority(os.PRIO_PROCESS, b.pid, 3)
        threads.move(b.pid, other, theirs)
        before_a, before_b = threads.read(a.pid), threads.read(b.pid)
        for tid in (a.pid, b.pid):
            mine.change(tid, affinity=(0,), nice=6, cgroups={hierarchy: group})
        orphans, child_of_b = [start("orphan") for start in (start_a, start_b)], start_b("child")
        changed = threads.read(child_of_b)
        mine.release(orphans[1], {hierarchy: "/"})
        assert threads.read(orphans[1]) == before_b
        threads.move(wandered := start_b("child"), other, "/")
        mine.release(wandered, {hierarchy: "/"})
        assert threads.read(wandered) == before_b | {f"cgroup {other}": "/"}
        mine.put_back(a.pid)
        assert threads.read(orphans[0]) == before_a and threads.read(child_of_b) == changed
        mine.put_back(b.pid)
        assert threads.read(child_of_b) == before_b


@needs_rights
def test_a_number_used_again_keeps_and_gets_nothing_of_ours(path, one, forks):
    """While nobody was there: one number went to a child of a thread that is changed, one to a process that has nothing to do with it."""
    process, fork = forks
    before = threads.read(process.pid)
    entry = entry_of(process.pid, before, {"nice": [6]})
    for each in (process, one):
        os.setpriority(os.PRIO_PROCESS, each.pid, 6)
    child, _ = fork()
    ended = [entry_of(pid, before, {"nice": [6]}, earlier=500) for pid in (child, one.pid)]
    done = changed_threads.restore(recorded(path, entry, *ended))
    assert done == Restored(3, [], failed=False)
    assert threads.read(process.pid) == threads.read(child) == before
    assert threads.read(one.pid)["nice"] == 6


def test_whoever_has_the_number_of_a_recorded_thread_is_not_changed(mine, one, monkeypatch):
    """Until the thread of that number is looked for anew."""
    mine.change(one.pid, nice=5)
    with monkeypatch.context() as later:
        later.setattr(threads, "started", lambda tid: 2**40)
        with pytest.raises(UserError, match=f"thread {one.pid} has ended"):
            mine.change(one.pid, nice=6)
    assert threads.read(one.pid)["nice"] == 5 and mine.tids == []
    mine.change(one.pid, nice=6)
    assert threads.read(one.pid)["nice"] == 6


def test_a_thread_that_ended_is_passed_over(mine, one):
    mine.change(one.pid, nice=5)
    one.kill()
    one.wait()
    assert mine.put_back(one.pid) == []


@pytest.mark.parametrize("call", ["read", "check_policy"])
def test_a_thread_that_ends_while_it_is_recorded_is_said(mine, one, monkeypatch, call):
    with monkeypatch.context() as ending:
        ending.setattr(threads, call, ends)
        with pytest.raises(UserError, match=f"thread {one.pid} has ended"):
            mine.change(one.pid, nice=5)
    mine.change(one.pid, nice=5)
    monkeypatch.setattr(threads, "check_policy", ends)
    with pytest.raises(UserError, match=f"thread {one.pid} has ended"):
        mine.change(one.pid, nice=6)


def ends(tid: int):
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


def test_one_holder_at_a_time(path, one):
    journal.File(path, journal.Contents(holder=Process.of(one.pid))).close()
    with pytest.raises(UserError, match=f"held by process {one.pid}"):
        Journal(path)
    one.kill()
    one.wait()
    Journal(path).close()
    assert not path.exists()


def test_who_was_killed_and_has_not_ended_yet_is_waited_for(path, tmp_path):
    """Else `share restore` and the next start, right after a kill -9, restore nothing and leave a group. A process with much memory takes
    milliseconds to end."""
    with python_tenant(LARGE) as process:
        process.stdout.readline()
        holder = Process.of(process.pid)
        group = tmp_path / f"{PREFIX}{holder.pid}-{holder.started}"
        group.mkdir()
        assert holder.stays and shield.clean(Hierarchy(1, tmp_path, "cpu")) == []
        process.kill()
        assert shield.clean(Hierarchy(1, tmp_path, "cpu")) == [group]
    for take in (changed_threads.restore, lambda path: Journal(path).close()):
        with python_tenant(LARGE) as process:
            process.stdout.readline()
            journal.File(path, journal.Contents(holder=Process.of(process.pid))).close()
            process.kill()
            take(path)
        assert not path.exists()


@needs_rights
def test_a_journal_taken_over_is_restored_first(path, one):
    """What it says may be long past. Here it was made while another holder had raised the thread, which that one has restored since: to
    take it for how the thread ran would leave it raised for ever."""
    before = threads.read(one.pid)
    recorded(path, entry_of(one.pid, before, {"nice": [7]}))
    os.setpriority(os.PRIO_PROCESS, one.pid, 7)
    with closing(Journal(path)) as mine:
        assert threads.read(one.pid) == before and mine.tids == []
    raised = (sched.FIFO, 1, 0)
    recorded(path, entry_of(one.pid, before | {"policy": raised}, {"policy": [raised]}))
    with closing(Journal(path)) as mine:
        mine.change(one.pid, policy=raised)
    assert threads.read(one.pid) == before


@needs_rights
def test_what_cannot_be_restored_stays_in_a_journal_that_is_taken_over(path, one):
    before = threads.read(one.pid) | {"affinity": (4095,)}
    ours = {"affinity": [tuple(sorted(os.sched_getaffinity(one.pid)))]}
    recorded(path, entry_of(one.pid, before, ours))
    with closing(Journal(path)) as mine:
        assert mine.tids == [one.pid]
    assert journal.read(path).entries[one.pid].before == before


@needs_rights
@pytest.mark.parametrize("all_at_once", [False, True])
def test_what_cannot_be_restored_is_forgotten_by_no_holder(path, one, monkeypatch, all_at_once):
    """Neither when the thread is let go, nor at the end: `share restore` can try again."""
    before = threads.read(one.pid)
    mine = Journal(path)
    mine.change(one.pid, nice=5)
    with monkeypatch.context() as refusing:
        refusing.setattr(threads, "write", refuses(errno.EPERM))
        assert mine.put_back_all() if all_at_once else mine.put_back(one.pid)
    assert mine.tids == [one.pid] and mine.put_back(one.pid) == [] and threads.read(one.pid) == before
    mine.change(one.pid, nice=5)
    with monkeypatch.context() as refusing:
        refusing.setattr(threads, "write", refuses(errno.EPERM))
        assert "could not be restored" in mine.close()[0]
    contents = journal.read(path)
    assert contents.entries[one.pid].before == before
    contents.holder = Process(1, 1)  # has ended
    journal.File(path, contents).close()
    assert not changed_threads.restore(path).failed and threads.read(one.pid) == before


def test_a_guardian_is_not_waited_for_if_something_could_not_be_restored(path, one, monkeypatch):
    """It waits for our end, to try again."""
    with held(path) as guarded:
        guarded.change(one.pid, nice=5)
        monkeypatch.setattr(threads, "write", refuses(errno.EPERM))
    assert path.exists()


@needs_rights
def test_a_cgroup_that_is_gone_keeps_no_thread_in_ours(mine):
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), cpu_cgroup("windtunnel-test-own") as (_, own):
        directory = threads.mounts()[hierarchy] / own[1:]
        with tenant() as one:
            threads.move(one.pid, hierarchy, own)
            before = threads.read(one.pid)
            mine.change(one.pid, nice=5, cgroups={hierarchy: group})
            directory.rmdir()
            try:
                (said,) = mine.put_back(one.pid)
            finally:
                directory.mkdir()
            assert f"its cgroup {hierarchy} {own} is gone: it is in / now" in said and mine.tids == []
            assert threads.read(one.pid) == before | {f"cgroup {hierarchy}": "/"}


@needs_rights
@pytest.mark.parametrize("first", ["a", "b"])
def test_a_start_restores_first_what_killed_holders_left(default, alone, first):
    """What the second one found was what the first one had changed, and only the first one knows how it was."""
    raised = (sched.FIFO, 1, 0)
    with tenant() as one, tenant() as two:
        before, told = threads.read(one.pid), []
        left = recorded(default / "a.journal", entry_of(one.pid, before, {"policy": [raised]}))
        threads.write(one.pid, {"policy": raised})
        journal.File(default / "c.journal", journal.Contents(holder=Process.of(two.pid))).close()
        (default / "d.journal").touch(mode=0o600)
        (default / "d.journal").write_text("no journal\n")
        with held(default / f"{first}.journal", told.append) as guarded:
            assert threads.read(one.pid) == before
            guarded.change(one.pid, policy=raised)
        assert threads.read(one.pid) == before
        assert [line.split(":")[0] for line in told] == [
            f"{left} was left by a process that was killed",
            "left as it is",
        ]
        assert {path.name for path in default.iterdir()} == {"c.journal", "d.journal"}


@needs_rights
def test_a_long_life_does_not_make_a_long_journal(path, one, monkeypatch):
    monkeypatch.setattr(journal, "MOST_LINES", 100)
    with closing(Journal(path)) as mine:
        before = threads.read(one.pid)
        for turn in range(300):
            mine.allow(one.pid, nice=[turn % 19, 5])
        assert len(path.read_bytes().splitlines()) <= 105
        mine.change(one.pid, nice=5)
        assert mine.put_back_all() == [] and threads.read(one.pid) == before


def before_line(**fields) -> str:
    """The line of a thread that ran so."""
    return json.dumps({"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": fields}) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "{}\n",
        "[1]\n",
        "no json\n",
        '{"is": "journal", "version": 99}\n',
        '{"is": "ours", "tid": 1}\n',
        before_line(affinity="0"),
        before_line(affinity=[[0]]),
        before_line(policy=[0, 0]),
        before_line(policy=None),
        before_line(nice="5"),
        before_line(nice=1.5),
        before_line(runtime_ns=[1]),
        before_line(**{"cgroup cpu": 3}),
        before_line(colour=3),
        before_line(nice=5) + '{"is": "ours", "tid": 1, "values": {"nice": [[5]]}}\n',
        before_line(nice=5) + '{"is": "ours", "tid": [1], "values": {}}\n',
        '{"is": "setting", "path": "/proc/sys/kernel/sched_autogroup_enabled", "before": 1}\n',
        "[" * 100_000 + "\n",
    ],
    ids=lambda text: text[-60:].strip(),
)
def test_what_is_no_journal_is_refused(path, text):
    path.write_text(text)
    with pytest.raises(UserError, match="not a journal"):
        changed_threads.restore(path)


def test_a_torn_last_line_and_another_boot_are_passed_over(path):
    entry = {"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": {"nice": 19}}
    other_boot = {"is": "journal", "version": 1, "boot": "another", "pid": 1, "started": 1}
    path.write_text(json.dumps(other_boot) + "\n" + json.dumps(entry) + "\n")
    assert journal.read(path).entries == {}
    path.write_text(json.dumps(other_boot | {"boot": journal.boot()}) + "\n" + json.dumps(entry)[:20])
    assert journal.read(path).entries == {}
    assert journal.read(path).holder == Process(1, 1)


def test_no_such_thread_is_said(mine):
    for tid in (0, -1, 2**31 - 1):
        with pytest.raises(UserError, match="no such thread"):
            mine.change(tid, nice=1)


@needs_rights
def test_a_refused_change_is_said_in_words(mine, one):
    with pytest.raises(UserError, match="cannot be given affinity"):
        mine.change(one.pid, affinity=(4095,))
    with pytest.raises(UserError, match="hierarchy nowhere is not mounted"):
        mine.change(one.pid, cgroups={"nowhere": "/a"})


def test_a_journal_that_is_not_there_is_said(default):
    code, said = share_restore(default / "a.journal")
    assert code == 2 and str(default) in said
    default.mkdir(parents=True)
    code, said = share_restore(default / "a.journal")
    assert code == 2 and "no such journal" in said


@needs_rights
def test_what_cannot_be_restored_stays_recorded_and_is_said(default, alone):
    with tenant() as one:
        before = threads.read(one.pid) | {"affinity": (4095,), "nice": 3}
        os.setpriority(os.PRIO_PROCESS, one.pid, 7)
        ours = {"nice": [7], "affinity": [tuple(sorted(os.sched_getaffinity(one.pid)))]}
        path = recorded(default / "a.journal", entry_of(one.pid, before, ours))
        code, said = share_restore()
        assert code == 2 and "affinity could not be restored" in said and "the journal is kept" in said
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == 3 and path.exists()
    assert share_restore()[0] == 0 and not path.exists()


@needs_rights
def test_restore_removes_the_shields_of_those_who_ended(default, alone, one, monkeypatch):
    """Who is in one, and in no journal, is moved out."""
    where = threads.mounts().get("cpu")
    if where is None:
        pytest.skip("no cgroup v1 with the cpu controller")
    monkeypatch.setattr(shield, "RESTORING_S", 0)
    ended = subprocess.Popen(["true"])
    ended.wait()
    theirs, living = where / f"{PREFIX}{ended.pid}-1", own_group(where)
    before = threads.read(one.pid)
    try:
        for group in (theirs, theirs / "inner", living):
            group.mkdir()
        default.mkdir(parents=True)
        threads.move(one.pid, "cpu", f"/{theirs.name}/inner")
        with monkeypatch.context() as refusing:
            refusing.setattr(threads, "move", refuses(errno.EPERM))
            code, said = share_restore()
        assert code == 2 and f"{theirs}: cannot be removed" in said and theirs.exists()
        code, said = share_restore()
        assert code == 0 and f"thread {one.pid}: moved from {theirs} to {where}" in said and not theirs.exists()
        assert threads.cgroups_of(one.pid)["cpu"] == "/"
        theirs.mkdir()
        threads.move(one.pid, "cpu", f"/{theirs.name}")
        ours = {"cgroup cpu": [threads.read(one.pid)["cgroup cpu"]]}
        recorded(default / "a.journal", entry_of(one.pid, before, ours))
        code, said = share_restore()
        assert code == 0 and f"{theirs}: removed" in said
        assert not theirs.exists() and living.exists() and threads.read(one.pid) == before
    finally:
        threads.move(one.pid, "cpu", str(before["cgroup cpu"]))
        for group in (theirs / "inner", theirs, living):
            if group.exists():
                group.rmdir()


@pytest.mark.parametrize(
    "setting", ["{}/profile", "/proc/sys/../..{}/profile", "/sys/kernel/debug/sched", "/proc/1/oom_adj"]
)
def test_a_journal_that_would_write_elsewhere_is_refused_before_anything_is_done(tmp_path, one, setting):
    (tmp_path / "profile").write_text("mine")
    name = setting.format(tmp_path)
    before = threads.read(one.pid)
    entry = entry_of(one.pid, before | {"nice": 19}, {"nice": [before["nice"]]})
    file = recorded(tmp_path / "b.journal", entry, settings={name: "theirs"})
    with pytest.raises(UserError, match=f"not a journal: {name} is not below /proc/sys"):
        changed_threads.restore(file)
    assert threads.read(one.pid) == before
    with closing(Journal(tmp_path / "a.journal")) as mine, pytest.raises(ValueError, match="not below"):
        mine.set_setting(tmp_path / "profile", "mine", "theirs")
    assert (tmp_path / "profile").read_text() == "mine"


@needs_rights
def test_a_setting_of_the_kernels_is_put_back(path, alone):
    setting = journal.SETTINGS[0] / "kernel/sched_autogroup_enabled"
    if not setting.exists():
        pytest.skip(f"no {setting}")
    before = setting.read_text()
    with held(path) as guarded:
        guarded.set_setting(setting, before, "1" if before == "0\n" else "0")
        assert setting.read_text() != before
    assert setting.read_text() == before


def test_a_cgroup_above_the_hierarchy_is_no_cgroup(tmp_path, one):
    for hierarchy in threads.mounts():
        with pytest.raises(OSError, match="outside of this cgroup namespace"):
            threads.move(one.pid, hierarchy, f"/../../..{tmp_path}")


def test_only_slicers_are_ended_as_helpers(path, one):
    slicer = path.with_name("windtunnel-slicer")
    shutil.copy("/bin/sleep", slicer)
    with subprocess.Popen([slicer, "600"]) as ours, subprocess.Popen([slicer, "600"]) as unnamed:
        try:
            helpers = [Process.of(process.pid) for process in (one, ours, unnamed)]
            helpers[2] = Process(unnamed.pid, helpers[2].started - 1)  # the number was used again
            changed_threads.restore(recorded(path, helpers=helpers))
            assert ours.wait(30) == -signal.SIGKILL
            assert one.poll() is None and unnamed.poll() is None
        finally:
            ours.kill()
            unnamed.kill()


@needs_rights
@pytest.mark.parametrize("spare", [0, 30])
def test_what_cannot_be_recorded_is_not_changed(path, mine, one, spare):
    """With `spare` bytes left the disk takes a part of the line."""
    with tenant() as two:
        mine.change(two.pid, nice=2)
        before, text = threads.read(one.pid), path.read_bytes()
        for tid in (one.pid, two.pid):
            now = threads.read(tid)
            with no_room_after(len(text) + spare), pytest.raises(UserError, match="cannot be written") as refused:
                mine.change(tid, nice=11)
            assert "no thread is changed" in refused.value.remedy
            assert threads.read(tid) == now and path.read_bytes() == text
        with no_room_after(len(text) + spare), pytest.raises(UserError, match="cannot be written"):
            mine.allow(one.pid, nice=[11])
        assert mine.tids == [two.pid]
        mine.allow(one.pid, nice=[11])
        os.setpriority(os.PRIO_PROCESS, one.pid, 11)
        with no_room_after(0):
            assert mine.put_back_all() == []  # to restore needs no room
        assert threads.read(one.pid) == before and threads.read(two.pid)["nice"] == os.nice(0)


@needs_rights
def test_nothing_is_appended_to_half_a_line(path, mine, one, monkeypatch):
    """Of a disk that takes a part of a line, and does not let it be cut off."""
    with tenant() as two:
        mine.change(two.pid, nice=2)
        text = path.read_bytes()
        with monkeypatch.context() as full, no_room_after(len(text) + 30):
            full.setattr(os, "ftruncate", refuses(errno.EIO))
            with pytest.raises(UserError, match="cannot be written"):
                mine.change(one.pid, nice=11)
        assert len(path.read_bytes()) == len(text) + 30 and journal.read(path).entries.keys() == {two.pid}
        mine.change(one.pid, nice=11)
        assert journal.read(path).entries.keys() == {one.pid, two.pid}


def refuses(number: int):
    """A call that the kernel refuses."""

    def call(*arguments):
        raise OSError(number, os.strerror(number))

    return call


@needs_rights
@pytest.mark.parametrize("fault", [TypeError("unforeseen"), PermissionError(errno.EPERM, "refused")], ids=repr)
def test_a_thread_that_cannot_be_restored_keeps_no_other_from_it(mine, one, monkeypatch, fault):
    read = threads.read

    def read_others(tid):
        if tid == one.pid:
            raise fault
        return read(tid)

    with tenant() as two:
        before = read(two.pid)
        for tid in (one.pid, two.pid):
            mine.change(tid, nice=5)
        monkeypatch.setattr(threads, "read", read_others)
        (said,) = mine.put_back_all()
        assert said.startswith(f"thread {one.pid} could not be restored: ") and read(two.pid) == before


@needs_rights
def test_a_journal_that_cannot_be_rewritten_grows_on(path, one, monkeypatch):
    monkeypatch.setattr(journal, "MOST_LINES", 4)
    with closing(Journal(path)) as mine:
        before = threads.read(one.pid)
        journal.new_of(path).mkdir()
        for nice in range(1, 16):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) > 10 and journal.read(path).entries[one.pid].before == before
        journal.new_of(path).rmdir()
        for nice in range(-18, 0):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) < 20
        mine.put_back_all()
        assert threads.read(one.pid) == before


LINES = st.sampled_from(
    [
        {"is": "journal", "version": 1, "boot": journal.boot(), "pid": 1, "started": 1},
        {"is": "before", "tid": 7, "pid": 7, "started": 1, "since": 1, "before": {"nice": 5, "policy": [0, 0, 0]}},
        {"is": "ours", "tid": 7, "values": {"nice": [5]}},
        {"is": "setting", "path": "/proc/sys/kernel/sched_autogroup_enabled", "before": "1"},
        {"is": "helper", "pid": 7, "started": 1},
        {"is": "back", "tid": 7},
    ]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(
        st.builds(
            lambda line, at, value: json.dumps(line | {list(line)[at % len(line)]: value}),
            LINES,
            st.integers(0, 9),
            ANY,
        )
        | LINES.map(json.dumps)
        | st.text(max_size=30),
        max_size=6,
    ),
    st.binary(max_size=20),
)
def test_a_journal_of_anything_is_read_or_refused_in_words(tmp_path_factory, lines, torn):
    """It is believed by root: what is not of the right type is not taken."""
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    path.touch(mode=0o600)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(errors="replace") + torn)
    try:
        contents = journal.read(path)
    except UserError as error:
        assert "not a journal" in error.message
        return
    for entry in contents.entries.values():
        for name, value in [*entry.before.items(), *((n, v) for n, them in entry.ours.items() for v in them)]:
            assert isinstance(value, str) == name.startswith(threads.CGROUP), (name, value)
            assert isinstance(value, str | int) or (
                isinstance(value, tuple) and all(type(each) is int for each in value)
            )
    assert all(isinstance(text, str) for text in contents.settings.values())
