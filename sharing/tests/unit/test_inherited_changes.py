"""What threads and processes get back that were forked by one that was changed."""

import os
import signal
from contextlib import contextmanager

import pytest
from journal_tools import LOOKS, Steps, entry_of, raises_for, recorded
from sharing_tools import (
    CPUS,
    POLL,
    SLEEP,
    cpu_cgroup,
    first_thread_ends,
    needs_rights,
    python_tenant,
    starting_tenant,
    tenant,
    until,
)

from windtunnel import proc
from windtunnel_sharing import inherited_changes, journal, left_behind, sched, threads
from windtunnel_sharing.entries import Entries, Entry
from windtunnel_sharing.families import Families
from windtunnel_sharing.left_behind import Restored
from windtunnel_sharing.slicers.slicer import ORDINARY, RAISED
from windtunnel_sharing.threads import Stat

FORKING = """
import os, sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "60"]), flush=True)
time.sleep(60)
"""


pytestmark = pytest.mark.slow


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
@pytest.mark.parametrize("by", ["put back", "release", "changed too"])
def test_what_is_forked_by_who_has_raised_a_nice_value_of_ours_gets_what_its_parent_had(mine, forks, by):
    """-4 is no value of ours, but nobody comes to it from 0 without one."""
    process, fork = forks
    with cpu_cgroup("windtunnel-test") as (hierarchy, group):
        before = threads.read(process.pid)
        mine.change(process.pid, nice=-6, cgroups={hierarchy: group})
        os.setpriority(os.PRIO_PROCESS, process.pid, -4)
        forked = fork()
        assert [threads.read(tid)["nice"] for tid in forked] == [-4, -4]
        if by == "release":
            given = mine.release(forked, {hierarchy: "/"}, own=True).given
            assert [given[tid]["nice"] for tid in forked] == [0, 0]
        elif by == "changed too":
            for tid in forked:
                mine.change(tid, affinity=(0,))
                assert journal.read(mine.path).entries[tid].before == before
        mine.put_back_all()
        assert [threads.read(tid) for tid in (process.pid, *forked)] == [before] * 3


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
@pytest.mark.parametrize(("nice", "handed_on"), [(-2, 0), (2, 2)])
def test_what_a_raised_thread_forked_gets_back_the_nice_value_that_the_kernel_took_if_anybody_may_have_it(
    mine, forks, nice, handed_on
):
    process, fork = forks
    sched.put(process.pid, sched.Attributes(sched.BATCH, 0, nice, 0))
    before = threads.read(process.pid)
    mine.allow(process.pid, policy=[ORDINARY, RAISED])
    threads.write(process.pid, {"policy": RAISED})  # as the slicer does
    forked = fork()
    assert {threads.read(tid)["nice"] for tid in forked} == {0}
    mine.put_back_all()
    assert threads.read(process.pid) == before
    assert [threads.read(tid) for tid in forked] == [before | {"nice": handed_on}] * 2


@needs_rights
@pytest.mark.parametrize("last", [RAISED, ORDINARY], ids=["raised", "lowered"])
@pytest.mark.parametrize("by", ["put back", "release"])
def test_what_a_raised_thread_forked_gets_back_the_timer_slack_that_the_kernel_took(mine, forks, by, last):
    process, fork = forks
    threads.write(process.pid, {"timer_slack_ns": 7})
    before = threads.read(process.pid)
    mine.allow(process.pid, policy=[ORDINARY, RAISED])
    for policy in (RAISED, last):
        threads.write(process.pid, {"policy": policy})  # as the slicer does
    forked = fork()
    assert 7 not in {threads.read(tid)["timer_slack_ns"] for tid in forked}
    if by == "release":
        assert [fields["timer_slack_ns"] for fields in mine.release(forked, {}, own=True).given.values()] == [7, 7]
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
            mine.release([orphan], {hierarchy: "/"})
        else:
            mine.put_back(a.pid)
        assert threads.read(orphan) == before_b | {"nice": most_nice}


@needs_rights
def test_an_orphan_leaves_our_cgroup_last_so_that_what_it_forks_meanwhile_is_found(mine, monkeypatch):
    written, write = [], threads.write
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), starting_tenant() as (process, start):
        before = threads.read(process.pid)
        mine.change(process.pid, affinity=(0,), nice=6, cgroups={hierarchy: group})
        orphan = start("orphan")
        monkeypatch.setattr(threads, "write", lambda tid, fields: written.append(set(fields)) or write(tid, fields))
        mine.release([orphan], {hierarchy: "/"})
        assert written == [{"nice"}, {"affinity", f"cgroup {hierarchy}"}] and threads.read(orphan) == before


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
        mine.release([orphans[1]], {hierarchy: "/"})
        assert threads.read(orphans[1]) == before_b
        threads.move(wandered := start_b("child"), other, "/")
        mine.release([wandered], {hierarchy: "/"})
        assert threads.read(wandered) == before_b | {f"cgroup {other}": "/"}
        mine.put_back(a.pid)
        assert threads.read(orphans[0]) == before_a and threads.read(child_of_b) == changed
        mine.put_back(b.pid)
        assert threads.read(child_of_b) == before_b


@needs_rights
@pytest.mark.parametrize("what", ["child", "orphan"])
def test_of_thousands_that_a_thread_has_forked_some_are_put_back_at_once_and_the_others_later(mine, what):
    """Nobody is served meanwhile."""
    mine.budget = Steps(2)
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), starting_tenant() as (process, start):
        before = threads.read(process.pid)
        mine.change(process.pid, nice=6, cgroups={hierarchy: group})
        forked = [start(what) for _ in range(5)]
        restored = lambda: [tid for tid in forked if threads.read(tid) == before]
        assert mine.put_back(process.pid) == [] and threads.read(process.pid) == before
        assert len(restored()) <= 2 and mine.tids == [process.pid]
        mine.change(process.pid, nice=7, cgroups={hierarchy: group})
        assert mine.go_on() == ([], False) and len(restored()) <= 2, "it is one of us again"
        mine.put_back(process.pid)
        until(lambda: mine.go_on() == ([], False))
        assert restored() == forked and mine.tids == []


@needs_rights
def test_what_a_process_forks_that_is_changed_again_while_it_leaves_is_restored_too(mine):
    """Another thread of it is the only one that is changed then."""
    mine.budget = Steps(1)
    with starting_tenant() as (process, start), first_thread_ends() as (many, _):
        before = threads.read(process.pid)
        first, second = sorted(set(threads.threads_of(many.pid)) - {many.pid})
        mine.change(first, nice=6)
        mine.put_back(first)
        assert mine.tids == [first], "it has begun to leave"
        mine.change(second, nice=7)
        mine.put_back(second)
        assert mine.tids == [first, second], "what that one has forked is looked for, too"
        mine.change(process.pid, nice=6)
        child = start("child")
        mine.put_back(process.pid)
        until(lambda: mine.go_on() == ([], False))
        assert threads.read(child) == before and mine.tids == []


@needs_rights
@pytest.mark.parametrize("error", LOOKS, ids=repr)
@pytest.mark.parametrize("name", ["started", "stat", "read"])
def test_a_forked_thread_that_cannot_be_looked_at_keeps_no_other_from_being_restored(
    mine, monkeypatch, capsys, name, error
):
    with starting_tenant() as (process, start):
        before = threads.read(process.pid)
        mine.change(process.pid, nice=6)
        first, *others = sorted(start("child") for _ in range(3))
        with monkeypatch.context() as failing:
            failing.setattr(threads, name, raises_for(first, error, getattr(threads, name)))
            said = mine.put_back(process.pid)
        assert [threads.read(tid) for tid in others] == [before] * 2
        assert bool(said) != isinstance(error, ProcessLookupError)


@needs_rights
def test_what_an_heir_has_forked_before_it_was_changed_itself_is_restored_too(mine, monkeypatch):
    """It is told by its parent, which had inherited that."""
    with starting_tenant() as (process, start):
        before = threads.read(process.pid)
        mine.change(process.pid, affinity=(0,), nice=6)
        child = start("child")
        monkeypatch.setattr(threads, "ticks_now", lambda: threads.started(child) + 1000)
        mine.change(child, nice=7)
        (entry,) = (entry for entry in journal.read(mine.path).entries.values() if entry.tid == child)
        assert entry.since == entry.started and entry.before == before
        forked = Stat(child, process.pid, entry.started + 1, False, entry.users)
        now = before | {"affinity": (0,), "nice": 6}
        families = Families(mine._contents.entries)
        assert families.of(now, forked).before(now, forked.started) == {
            "affinity": before["affinity"],
            "nice": before["nice"],
        }


@pytest.mark.parametrize(("runs", "looks"), [(POLL, 2), (SLEEP, 1)])
def test_who_may_be_within_a_fork_is_looked_at_again_once_it_has_run(monkeypatch, runs, looks):
    """What it forks has what it had before it was restored, and shows when the fork ends."""
    ran = []
    monkeypatch.setattr(
        inherited_changes, "put_back_forked", lambda entries, *_: iter([ran.append(threads.cpu_ns(entries[0].tid))])
    )
    with tenant(runs) as one:
        until(lambda: threads.is_busy(one.pid) == (runs is POLL))
        inherited_changes.put_back([entry_of(one.pid, {}, {})], Entries())
    assert len(ran) == looks and ran[-1] - ran[0] >= (looks - 1) * inherited_changes.FORK_NS


def test_each_process_of_a_chain_is_looked_at_once(monkeypatch):
    """A tenant of 700 that had each started the next one kept the daemon from its end for minutes."""
    looked = []
    monkeypatch.setattr(threads, "children", lambda: lambda pid: [pid + 1] if pid < 50 else [])
    monkeypatch.setattr(threads, "threads_of", lambda pid: looked.append(pid) or [])
    monkeypatch.setattr(threads, "within", lambda hierarchy, path: [])
    monkeypatch.setattr(threads, "is_busy", lambda tid: False)
    entries = Entries(Entry(pid, pid, 0, 0, {}) for pid in range(50))
    inherited_changes.put_back(list(entries.values()), entries)
    assert looked == list(range(51))


SUPERVISED = """
import ctypes, os, sys
libc, how = ctypes.CDLL(None), sys.stdin.readline().strip()
libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER, as the first process of a container
worker = os.fork()
if worker == 0:
    os.setgroups([]), os.setgid(61871), os.setuid(61871)
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    if how == "sibling":
        CLONE_PARENT, SIGCHLD = 0x8000, 17
        forked = libc.syscall({"x86_64": 56}.get(os.uname().machine, 220), CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
    elif forked := os.fork():
        os.waitpid(forked, 0)
    elif forked := os.fork():
        os._exit(0)
    if forked == 0:
        print(os.getpid(), flush=True)
libc.pause()
"""


@contextmanager
def supervised(how: str):
    """A process of root's, its worker of another user, and what makes the worker start a process that becomes a child of the first one."""
    with python_tenant(SUPERVISED) as process:
        process.stdin.write(f"{how}\n")
        pids = [int(process.stdout.readline())]

        def start() -> int:
            process.stdin.write("start\n")
            pids.append(int(process.stdout.readline()))
            until(lambda: threads.stat(pids[-1]).parent == process.pid)
            return pids[-1]

        try:
            yield process.pid, pids[0], start
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)


@needs_rights
@pytest.mark.parametrize("how", ["orphan", "sibling"])
def test_what_a_worker_without_rights_forks_gets_nothing_of_its_supervisor_who_has_adopted_it(mine, how):
    with (
        cpu_cgroup("windtunnel-test") as (hierarchy, group),
        cpu_cgroup("windtunnel-test-limited") as (_, limited),
        supervised(how) as (root, worker, start),
    ):
        sched.put(root, sched.Attributes(sched.OTHER, 0, -15, 0))
        threads.move(worker, hierarchy, limited)
        before = threads.read(worker)
        for tid in (root, worker):
            mine.change(tid, affinity=(0,), nice=6, cgroups={hierarchy: group})
        orphan = start()
        mine.put_back(root)
        assert threads.read(orphan)["nice"] == 6, "it is the worker's"
        mine.release([orphan], {hierarchy: "/"})
        assert threads.read(orphan) == before


@needs_rights
@pytest.mark.parametrize("by", ["release", "restore", "restore of a journal that was rewritten"])
def test_what_outlives_its_tenant_and_every_look_gets_what_that_tenant_had_and_not_what_the_last_one_has(
    path, mine, by
):
    """It forks and ends again and again, so that nobody can get hold of it until it sits."""
    with (
        cpu_cgroup("windtunnel-test") as (hierarchy, group),
        cpu_cgroup("windtunnel-test-limited") as (_, limited),
        supervised("orphan") as (root, worker, start),
    ):
        sched.put(root, sched.Attributes(sched.OTHER, 0, -15, 0))
        threads.move(worker, hierarchy, limited)
        before = threads.read(worker)
        for tid in (root, worker):
            mine.change(tid, affinity=(0,), nice=6, cgroups={hierarchy: group})
        changed, sits = threads.read(worker), start()
        mine.put_back(worker)
        threads.write(sits, changed)
        if by == "release":
            mine.release([sits], {hierarchy: "/"})
        else:
            contents = journal.read(path)
            if by != "restore":
                journal.File(path, contents).close()
                contents = journal.read(path)
            inherited_changes.put_back(list(contents.entries.values()), contents.entries)
        assert threads.read(sits) == before


EXECS = """
import ctypes, os, sys, threading
def work():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    os.execvp("sleep", ["sleep", "600"])
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0) if sys.argv[-1] == "ended" else threading.Event().wait()
"""


@needs_rights
@pytest.mark.parametrize("first", ["shared", "not shared", "taken in after the exec"])
@pytest.mark.parametrize("by", ["put back", "restore"])
def test_a_thread_that_execs_keeps_nothing_of_ours_as_the_first_of_its_process(path, mine, first, by):
    """It takes number and start of the first one."""
    with python_tenant(EXECS) as process:
        member = int(process.stdout.readline())
        tids = [process.pid, member] if first == "shared" else [member]
        before = {tid: threads.read(tid) for tid in tids}
        for cpu, tid in enumerate(tids):
            mine.allow(tid, policy=[ORDINARY, RAISED])
            mine.change(tid, affinity=(CPUS[-1 - cpu],), nice=5 + cpu)
        threads.write(member, {"policy": RAISED})
        process.stdin.write("exec\n")
        process.stdin.flush()
        until(lambda: threads.name(process.pid) == "sleep" and len(threads.threads_of(process.pid)) == 1)
        assert threads.read(process.pid)["policy"] == RAISED, "what the kernel does"
        if first.startswith("taken"):
            mine.change(process.pid, nice=9)
        if by == "restore":
            contents = journal.read(path)
            inherited_changes.put_back(list(contents.entries.values()), contents.entries)
        else:
            for tid in [member, process.pid]:
                assert mine.put_back(tid) == []
        assert threads.read(process.pid) == before[member]


MANY = """
import sys, threading, time
threading.stack_size(1 << 16)
for line in sys.stdin:
    for _ in range(int(line)): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    print("started", flush=True)
"""


@needs_rights
def test_a_thread_costs_no_more_reads_the_more_its_process_has(mine, monkeypatch):
    """With 2,000 threads a change took half a minute, in which nobody was served."""
    reads, read = [], proc.text
    monkeypatch.setattr(proc, "text", lambda path: reads.append(path) or read(path))
    with python_tenant(MANY) as process:
        for each in range(2):
            process.stdin.write("60\n")
            assert process.stdout.readline() == "started\n"
            for tid in set(threads.threads_of(process.pid)) - set(mine.tids):
                mine.change(tid, affinity=(0,), nice=6 + each)
        taken_in, count = len(reads), len(mine.tids)
        mine.put_back_all()
    assert taken_in < 12 * count and len(reads) - taken_in < 12 * count


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
    done = left_behind.restore(recorded(path, entry, *ended))
    assert done == Restored(3, [], failed=False)
    assert threads.read(process.pid) == threads.read(child) == before
    assert threads.read(one.pid)["nice"] == 6
