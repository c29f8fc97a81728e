"""Threads are found as they were, whoever is killed in the middle."""

import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from sharing_tools import SLEEP, as_before, cpu_cgroup, needs_rights, tenant, until
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.sharing import changed_threads, journal, sched, threads
from windtunnel.sharing.changed_threads import Journal, Restored, held
from windtunnel.sharing.pools.shield import PREFIX, own_group
from windtunnel.sharing.threads import Process

HOLDER = """
import sys, time
from pathlib import Path
from windtunnel.sharing.changed_threads import Guardian, Journal
path, tid, hierarchy, group = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
journal = Journal(path)
print(Guardian(path).pid, flush=True)
journal.change(tid, policy=(1, 7, 0))
journal.change(tid, policy=(0, 0, 0), nice=7, runtime_ns=300_000)
journal.change(tid, affinity=(0,), cgroups={hierarchy: group} if group else None)
print("changed", flush=True)
while True: time.sleep(60)
"""
FORKING = """
import os, sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print(os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", "import time; time.sleep(60)"]), flush=True)
"""
ALL = set(range(os.cpu_count()))


def holder(path, tid: int, hierarchy: str = "", group: str = "", code: str = HOLDER) -> tuple[subprocess.Popen, int]:
    """A process that has changed a thread, and its guardian."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, path, str(tid), hierarchy, group], stdout=subprocess.PIPE, text=True
    )
    guardian = int(process.stdout.readline())
    assert process.stdout.readline() == "changed\n"
    return process, guardian


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdout.close()


@needs_rights
def test_a_killed_holder_leaves_every_thread_as_it_was(tmp_path):
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), tenant() as one:
        os.sched_setaffinity(one.pid, ALL)
        os.setpriority(os.PRIO_PROCESS, one.pid, 3)
        before = threads.read(one.pid)
        process, _ = holder(tmp_path / "a.journal", one.pid, hierarchy, group)
        changed = threads.read(one.pid)
        assert changed["affinity"] == (0,) and changed["nice"] == 7 and changed["cgroup " + hierarchy] == group
        kill(process)
        until(as_before(one.pid, before))
    until(lambda: not list(tmp_path.iterdir()))


@needs_rights
def test_the_guardian_waits_for_a_holder_that_has_closed_its_files_and_is_not_dead_yet(tmp_path):
    code = HOLDER.replace(
        "print(Guardian(path).pid, flush=True)", "guardian = Guardian(path); print(guardian.pid, flush=True)"
    )
    code = code.replace('print("changed"', 'import os; os.close(guardian._write_end); print("changed"')
    with tenant() as one:
        before = threads.read(one.pid)
        process, guardian = holder(tmp_path / "a.journal", one.pid, code=code)
        assert threads.read(one.pid) != before and threads.stat(guardian)
        kill(process)
        until(as_before(one.pid, before))
    until(lambda: not list(tmp_path.iterdir()))


@needs_rights
def test_restore_puts_back_when_the_guardian_was_killed_too(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as one:
        before = threads.read(one.pid)
        process, guardian = holder(path, one.pid)
        refused = CliRunner().invoke(app, ["share", "restore", str(path)])
        assert (
            isinstance(refused.exception, UserError) and f"held by process {process.pid}" in refused.exception.message
        )
        os.kill(guardian, signal.SIGKILL)
        kill(process)
        assert threads.read(one.pid) != before
        done = CliRunner().invoke(app, ["share", "restore", str(path)])
        assert done.exit_code == 0 and "1 thread restored" in done.output
        assert threads.read(one.pid) == before and not path.exists()


@needs_rights
def test_a_real_time_policy_and_a_slice_are_put_back(tmp_path):
    with tenant() as one:
        sched.put(one.pid, sched.Attributes(sched.RR, 5, 0, 0, sched.RESET_ON_FORK))
        before = threads.read(one.pid)
        with held(tmp_path / "a.journal") as mine:
            mine.change(one.pid, policy=(sched.OTHER, 0, 0), nice=4, runtime_ns=500_000)
            assert sched.get(one.pid).policy == sched.OTHER
        assert threads.read(one.pid) == before
        assert threads.read(one.pid)["policy"] == (sched.RR, 5, sched.RESET_ON_FORK)


@needs_rights
def test_what_a_thread_chose_itself_meanwhile_stays_and_is_said(tmp_path):
    with tenant() as one, held(tmp_path / "a.journal") as mine:
        mine.change(one.pid, affinity=(0,), nice=5)
        os.setpriority(os.PRIO_PROCESS, one.pid, 9)
        (said,) = mine.put_back(one.pid)
        assert f"thread {one.pid} has changed its nice itself" in said
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == 9 and os.sched_getaffinity(one.pid) == ALL


@needs_rights
def test_threads_and_processes_forked_meanwhile_are_put_back_too(tmp_path):
    with tenant(FORKING + SLEEP) as one, held(tmp_path / "a.journal") as mine:
        before = threads.read(one.pid)
        mine.change(one.pid, affinity=(0,), nice=6)
        one.stdin.write("fork\n")
        one.stdin.flush()
        child = int(one.stdout.readline())
        (thread,) = set(threads.threads_of(one.pid)) - {one.pid}
        assert threads.read(child)["nice"] == threads.read(thread)["nice"] == 6
        mine.put_back(one.pid)
        assert threads.read(one.pid) == threads.read(thread) == threads.read(child) == before
        os.kill(child, signal.SIGKILL)


@needs_rights
def test_a_thread_that_ended_is_passed_over_and_a_number_used_again_is_not_touched(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as ended, tenant() as other:
        with held(path) as mine:
            mine.change(ended.pid, nice=5)
            ended.kill()
            ended.wait()
            assert mine.put_back(ended.pid) == []
        # The number of a thread that ended, given to one that started at another moment.
        found = threads.stat(other.pid)
        before = threads.read(other.pid)
        contents = journal.Contents(holder=Process(ended.pid, 1))
        entry = journal.Entry(other.pid, found.pid, found.started - 1, found.started - 1, before | {"nice": 11})
        entry.ours["nice"] = [before["nice"]]
        contents.entries[other.pid] = entry
        journal.File(path, contents).close()
        assert changed_threads.restore(path) == Restored(1, [], failed=False)
        assert threads.read(other.pid) == before


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as one:
        contents = journal.Contents(holder=Process.of(one.pid))
        journal.File(path, contents).close()
        with pytest.raises(UserError, match=f"held by process {one.pid}"):
            Journal(path)
    mine = Journal(path)
    mine.close()
    assert not path.exists()


@needs_rights
def test_a_journal_taken_over_keeps_what_was_before(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as one:
        before = threads.read(one.pid)
        process, guardian = holder(path, one.pid)
        os.kill(guardian, signal.SIGKILL)
        kill(process)
        mine = Journal(path)
        assert journal.read(path).entries[one.pid].before == before
        mine.change(one.pid, nice=9)
        mine.close()
        assert threads.read(one.pid) == before


@needs_rights
def test_a_long_life_does_not_make_a_long_journal(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as one, held(path) as mine:
        before = threads.read(one.pid)
        for turn in range(2 * journal.MOST_LINES):
            mine.allow(one.pid, nice=[turn % 19, 5])
        assert len(path.read_bytes().splitlines()) <= journal.MOST_LINES + 5
        mine.change(one.pid, nice=5)
        assert mine.put_back_all() == [] and threads.read(one.pid) == before


@pytest.mark.parametrize(
    "text", ["{}\n", "[1]\n", "no json\n", '{"is": "journal", "version": 99}\n', '{"is": "ours", "tid": 1}\n']
)
def test_what_is_no_journal_is_refused(tmp_path, text):
    path = tmp_path / "a.journal"
    path.write_text(text)
    with pytest.raises(UserError, match="not a journal"):
        changed_threads.restore(path)


def test_a_torn_last_line_and_another_boot_are_passed_over(tmp_path):
    path = tmp_path / "a.journal"
    entry = {"is": "before", "tid": 1, "pid": 1, "started": 1, "since": 1, "before": {"nice": 19}}
    other_boot = {"is": "journal", "version": 1, "boot": "another", "pid": 1, "started": 1}
    path.write_text(json.dumps(other_boot) + "\n" + json.dumps(entry) + "\n")
    assert journal.read(path).entries == {}
    path.write_text(json.dumps(other_boot | {"boot": journal.boot()}) + "\n" + json.dumps(entry)[:20])
    assert journal.read(path).entries == {}
    assert journal.read(path).holder == Process(1, 1)


@pytest.mark.parametrize("tid", [0, -1, 2**31 - 1])
def test_no_such_thread_is_said(tmp_path, tid):
    with held(tmp_path / "a.journal") as mine, pytest.raises(UserError, match="no such thread"):
        mine.change(tid, nice=1)


@needs_rights
def test_a_refused_change_is_said_in_words(tmp_path):
    with tenant() as one, held(tmp_path / "a.journal") as mine:
        with pytest.raises(UserError, match="cannot be given affinity"):
            mine.change(one.pid, affinity=(4095,))
        with pytest.raises(UserError, match="hierarchy nowhere is not mounted"):
            mine.change(one.pid, cgroups={"nowhere": "/a"})


def recorded(path, *entries, helpers=(), settings=()):
    """A journal whose holder has ended."""
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


def share_restore(*words) -> tuple[int, str]:
    """Exit code and output, the words of an error with it."""
    done = CliRunner().invoke(app, ["share", "restore", *map(str, words)])
    if isinstance(done.exception, UserError):
        return 2, done.output + done.exception.message
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.fixture
def default(tmp_path, monkeypatch):
    """The default directory of journals."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    return tmp_path / "run" / "windtunnel"


@needs_rights
def test_restore_finds_the_journals_of_daemons_probes_and_reproductions(default):
    with tenant() as one, tenant() as two, tenant() as three:
        tenants = (one, two, three)
        before = [threads.read(each.pid) for each in tenants]
        names = ("share/share.journal", "probe-cpu1.journal", "figure-7.journal")
        for each, name in zip(tenants, names, strict=True):
            process, guardian = holder(default / name, each.pid)
            os.kill(guardian, signal.SIGKILL)
            kill(process)
            assert threads.read(each.pid)["nice"] == 7
        left = default / "share" / "other.journal.new"  # a first journal that was never whole
        left.touch()
        code, said = share_restore()
        assert (code, said.count("1 thread restored")) == (0, 3), said
        assert [threads.read(each.pid) for each in tenants] == before
        assert not [path for path in default.rglob("*") if path.is_file()]
        assert share_restore() == (0, f"no journals in {default}\n")


def test_a_journal_that_is_not_there_is_said(default):
    code, said = share_restore(default / "a.journal")
    assert code == 2 and str(default) in said
    default.mkdir(parents=True)
    code, said = share_restore(default / "a.journal")
    assert code == 2 and "no such journal" in said


@needs_rights
def test_what_cannot_be_restored_stays_recorded_and_is_said(default):
    with tenant() as one:
        before = threads.read(one.pid) | {"affinity": (4095,), "nice": 3}
        os.setpriority(os.PRIO_PROCESS, one.pid, 7)
        ours = {"nice": [7], "affinity": [tuple(sorted(os.sched_getaffinity(one.pid)))]}
        default.mkdir(parents=True)
        path = recorded(default / "a.journal", entry_of(one.pid, before, ours))
        code, said = share_restore()
        assert code == 2 and "affinity could not be restored" in said and "the journal is kept" in said
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == 3 and path.exists()
    assert share_restore()[0] == 0 and not path.exists()


@needs_rights
def test_restore_removes_the_shields_of_those_who_ended(default):
    where = threads.mounts().get("cpu")
    if where is None:
        pytest.skip("no cgroup v1 with the cpu controller")
    ended = subprocess.Popen(["true"])
    ended.wait()
    theirs, living = where / f"{PREFIX}{ended.pid}-1", own_group(where)
    with tenant() as one:
        before = threads.read(one.pid)
        try:
            for group in (theirs, living):
                group.mkdir()
            default.mkdir(parents=True)
            threads.move(one.pid, "cpu", f"/{theirs.name}")
            code, said = share_restore()
            assert code == 2 and f"{theirs}: cannot be removed" in said and theirs.exists()
            recorded(
                default / "a.journal", entry_of(one.pid, before, {"cgroup cpu": [threads.read(one.pid)["cgroup cpu"]]})
            )
            code, said = share_restore()
            assert code == 0 and f"{theirs}: removed" in said
            assert not theirs.exists() and living.exists() and threads.read(one.pid) == before
        finally:
            threads.move(one.pid, "cpu", str(before["cgroup cpu"]))
            for group in (theirs, living):
                if group.exists():
                    group.rmdir()


@needs_rights
@pytest.mark.parametrize("policy", [sched.IDLE, sched.FIFO])
def test_nice_and_slice_are_put_back_under_a_policy_that_does_not_show_them(tmp_path, policy):
    """The kernel takes neither while a thread is SCHED_IDLE or real-time, and has them again when it no longer is."""
    with tenant() as one:
        sched.put(one.pid, sched.Attributes(sched.OTHER, 0, 4, 0))
        sched.put(one.pid, sched.Attributes(policy, int(policy == sched.FIFO), 4, 0))
        before = threads.read(one.pid)
        with held(tmp_path / "a.journal") as mine:
            mine.change(one.pid, policy=(sched.OTHER, 0, 0), nice=9, runtime_ns=850_000)
            assert sched.get(one.pid).nice == 9
        assert threads.read(one.pid) == before
        os.sched_setscheduler(one.pid, os.SCHED_OTHER, os.sched_param(0))
        found = sched.get(one.pid)
        assert (found.nice, found.runtime_ns) == (4, sched.default_slice_ns())


@pytest.mark.parametrize(
    "path", ["{}/profile", "/proc/sys/../..{}/profile", "/sys/kernel/debug/sched", "/proc/1/oom_adj"]
)
def test_a_journal_that_would_write_elsewhere_is_refused_before_anything_is_done(tmp_path, path):
    (tmp_path / "profile").write_text("mine")
    name = path.format(tmp_path)
    with tenant() as one:
        before = threads.read(one.pid)
        entry = entry_of(one.pid, before | {"nice": 19}, {"nice": [before["nice"]]})
        file = recorded(tmp_path / "a.journal", entry, settings={name: "theirs"})
        with pytest.raises(UserError, match=f"not a journal: {name} is not below /proc/sys"):
            changed_threads.restore(file)
        assert threads.read(one.pid) == before
        with held(tmp_path / "b.journal") as mine, pytest.raises(ValueError, match="not below"):
            mine.set_setting(tmp_path / "profile", "mine", "theirs")
    assert (tmp_path / "profile").read_text() == "mine"


@needs_rights
def test_a_setting_of_the_kernels_is_put_back(tmp_path):
    setting = journal.SETTINGS[0] / "kernel/sched_autogroup_enabled"
    if not setting.exists():
        pytest.skip(f"no {setting}")
    before = setting.read_text()
    try:
        with held(tmp_path / "a.journal") as mine:
            mine.set_setting(setting, before, "1" if before == "0\n" else "0")
            assert setting.read_text() != before
        assert setting.read_text() == before
    finally:
        setting.write_text(before)


def test_a_cgroup_above_the_hierarchy_is_no_cgroup(tmp_path):
    with tenant() as one:
        for hierarchy in threads.mounts():
            with pytest.raises(OSError, match="outside of this cgroup namespace"):
                threads.move(one.pid, hierarchy, f"/../../..{tmp_path}")


def test_only_slicers_are_ended_as_helpers(tmp_path):
    slicer = tmp_path / "windtunnel-slicer"
    shutil.copy("/bin/sleep", slicer)
    with tenant() as other, subprocess.Popen([slicer, "600"]) as ours, subprocess.Popen([slicer, "600"]) as unnamed:
        try:
            helpers = [Process.of(process.pid) for process in (other, ours, unnamed)]
            helpers[2] = Process(unnamed.pid, helpers[2].started - 1)  # the number was used again
            changed_threads.restore(recorded(tmp_path / "a.journal", helpers=helpers))
            assert ours.wait(30) == -signal.SIGKILL
            assert other.poll() is None and unnamed.poll() is None
        finally:
            ours.kill()
            unnamed.kill()


@needs_rights
def test_a_guardian_that_ends_is_replaced(tmp_path):
    path = tmp_path / "a.journal"
    code = HOLDER.replace(
        "print(Guardian(path).pid",
        "guardian = Guardian(path, lambda line: print(line, flush=True)); print(guardian.pid",
    )
    with tenant() as one:
        before = threads.read(one.pid)
        process, guardian = holder(path, one.pid, code=code)
        for _ in range(2):
            os.kill(guardian, signal.SIGKILL)
            until(lambda: select.select([process.stdout], [], [], 0)[0])
            said = process.stdout.readline()
            assert "the guardian process ended (SIGKILL)" in said
            guardian = int(said.rpartition("process ")[2].split()[0])
        kill(process)
        until(as_before(one.pid, before))
    until(lambda: not list(tmp_path.iterdir()))


def test_a_guardian_that_ends_with_its_journal_is_not_replaced(tmp_path):
    said = []
    with held(tmp_path / "a.journal", said.append):
        pass
    assert said == [] and not list(tmp_path.iterdir())


@needs_rights
@pytest.mark.parametrize("spare", [0, 30])
def test_what_cannot_be_recorded_is_not_changed(tmp_path, spare):
    """With `spare` bytes left the disk takes a part of the line."""
    path = tmp_path / "a.journal"
    with tenant() as one, tenant() as two, held(path) as mine:
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
def test_a_journal_that_cannot_be_rewritten_grows_on(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "MOST_LINES", 4)
    path = tmp_path / "a.journal"
    with tenant() as one, held(path) as mine:
        before = threads.read(one.pid)
        journal.new_of(path).mkdir()
        for nice in range(1, 16):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) > 10 and journal.read(path).entries[one.pid].before == before
        journal.new_of(path).rmdir()
        for nice in range(1, 19):
            mine.change(one.pid, nice=nice)
        assert len(path.read_bytes().splitlines()) < 20
        mine.put_back_all()
        assert threads.read(one.pid) == before


@needs_rights
def test_a_thread_that_was_forked_meanwhile_and_is_changed_itself_gets_what_its_parent_had(tmp_path):
    with tenant(FORKING + SLEEP) as one, held(tmp_path / "a.journal") as mine:
        before = threads.read(one.pid)
        mine.change(one.pid, affinity=(0,), nice=6)
        one.stdin.write("fork\n")
        one.stdin.flush()
        child = int(one.stdout.readline())
        (thread,) = set(threads.threads_of(one.pid)) - {one.pid}
        for tid in (child, thread):
            mine.change(tid, nice=8)
            assert journal.read(mine.path).entries[tid].before == before
        mine.put_back_all()
        assert [threads.read(tid) for tid in (one.pid, child, thread)] == [before] * 3
        os.kill(child, signal.SIGKILL)


@needs_rights
def test_a_number_used_again_keeps_and_gets_nothing_of_ours(tmp_path):
    """While nobody was there: one number went to a child of a thread that is changed, one to a process that has nothing to do with it."""
    with tenant(FORKING + SLEEP) as one, tenant() as other:
        before = threads.read(one.pid)
        entry = entry_of(one.pid, before, {"nice": [6]})
        for process in (one, other):
            os.setpriority(os.PRIO_PROCESS, process.pid, 6)
        one.stdin.write("fork\n")
        one.stdin.flush()
        child = int(one.stdout.readline())
        ended = [entry_of(pid, before, {"nice": [6]}, earlier=500) for pid in (child, other.pid)]
        done = changed_threads.restore(recorded(tmp_path / "a.journal", entry, *ended))
        assert done == Restored(3, [], failed=False)
        assert threads.read(one.pid) == threads.read(child) == before
        assert threads.read(other.pid)["nice"] == 6
        os.kill(child, signal.SIGKILL)
