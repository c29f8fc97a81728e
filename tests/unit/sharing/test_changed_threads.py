"""Threads are found as they were, whoever is killed in the middle."""

import json
import os
import signal
import subprocess
import sys

import pytest
from sharing_tools import SLEEP, as_before, cpu_cgroup, needs_rights, tenant, until
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.errors import UserError
from windtunnel.sharing import changed_threads, journal, sched, threads
from windtunnel.sharing.changed_threads import Journal, held

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
def test_remembered_by_hand_everything_that_differs_is_put_back(tmp_path):
    with tenant() as one, held(tmp_path / "a.journal") as mine:
        before = threads.read(one.pid)
        mine.remember(one.pid)
        os.sched_setaffinity(one.pid, {0})
        os.setpriority(os.PRIO_PROCESS, one.pid, 9)
        assert mine.put_back_all() == [] and threads.read(one.pid) == before


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
        contents = journal.Contents(holder=journal.Process(ended.pid, 1))
        entry = journal.Entry(
            other.pid, found.pid, found.started - 1, found.started - 1, before | {"nice": 11}, whole=True
        )
        contents.entries[other.pid] = entry
        journal.File(path, contents).close()
        assert changed_threads.restore(path) == (1, [])
        assert threads.read(other.pid) == before


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "a.journal"
    with tenant() as one:
        contents = journal.Contents(holder=journal.Process.of(one.pid))
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
        assert mine.before(one.pid) == before
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
    assert journal.read(path).holder == journal.Process(1, 1)


@pytest.mark.parametrize("tid", [0, -1, 2**31 - 1])
def test_no_such_thread_is_said(tmp_path, tid):
    with held(tmp_path / "a.journal") as mine, pytest.raises(UserError, match="no such thread"):
        mine.remember(tid)


@needs_rights
def test_a_refused_change_is_said_in_words(tmp_path):
    with tenant() as one, held(tmp_path / "a.journal") as mine:
        with pytest.raises(UserError, match="cannot be given affinity"):
            mine.change(one.pid, affinity=(4095,))
        with pytest.raises(UserError, match="hierarchy nowhere is not mounted"):
            mine.change(one.pid, cgroups={"nowhere": "/a"})
