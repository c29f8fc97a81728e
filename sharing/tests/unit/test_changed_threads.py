"""Threads are found as they were, whoever is killed in the middle."""

import errno
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from threading import Thread

import pytest
from journal_tools import LOOKS, entry_of, left_in, raises_for, recorded, refuses
from sharing_tools import (
    alone_on_this_machine,
    as_before,
    cpu_cgroup,
    needs_rights,
    python_tenant,
    share_restore,
    tenant,
    until,
)

from windtunnel.errors import UserError
from windtunnel_sharing import journal, left_behind, sched, threads
from windtunnel_sharing.changed_threads import Journal, held
from windtunnel_sharing.pools import shield
from windtunnel_sharing.pools.cgroups import Hierarchy
from windtunnel_sharing.pools.shield import PREFIX, own_group
from windtunnel_sharing.slicers.slicer import ORDINARY, RAISED
from windtunnel_sharing.threads import Process

HOLDER = """
import sys, time
from pathlib import Path
from windtunnel_sharing import changed_threads
path, tid, hierarchy, group = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
changed_threads.REST_S = 0.01
journal = changed_threads.Journal(path)
guardian = changed_threads.Guardian(path, lambda line: print(line, flush=True))
print(guardian.pid, flush=True)
journal.change(tid, policy=(1, 7, 0))
journal.change(tid, policy=(0, 0, 0), nice=7, runtime_ns=300_000)
journal.change(tid, affinity=(0,), cgroups={hierarchy: group} if group else None)
"""


NO_POLICY = (4, 0, 0)
"""The kernel has none of this number."""


STAYS = "print('changed', flush=True)\ntime.sleep(600)"


CLOSES_ITS_FILES = f"import os\nos.close(guardian._write_end)\n{STAYS}"


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


@pytest.fixture
def default(tmp_path, monkeypatch):
    """The default directory of journals."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    return tmp_path / "run" / "windtunnel"


@needs_rights
@needs_rights
@pytest.mark.parametrize("error", LOOKS, ids=repr)
@pytest.mark.parametrize("name", ["started", "read", "check_place"])
def test_what_goes_wrong_when_a_thread_is_changed_is_of_that_thread(mine, one, monkeypatch, capsys, name, error):
    """So that its tenant is left out, and not the change of all."""
    if name != "read":
        mine.change(one.pid, nice=6)
    monkeypatch.setattr(threads, name, raises_for(one.pid, error, getattr(threads, name)))
    hierarchy = next(iter(threads.mounts()))
    with pytest.raises((threads.Ended, threads.CannotChange)) as raised:
        mine.change(one.pid, {hierarchy: "/"}, nice=7)
    assert raised.value.tid == one.pid and mine.tids == ([] if name == "read" else [one.pid])


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
        until(lambda: not left_in(path.parent))

    def test_the_guardian_waits_for_a_holder_that_has_closed_its_files_and_is_not_dead_yet(self, path, one):
        before = {one.pid: threads.read(one.pid)}
        process, guardian = holder(path, one.pid, end=CLOSES_ITS_FILES)
        assert not as_before(before)() and threads.stat(guardian)
        kill(process)
        until(as_before(before))
        until(lambda: not left_in(path.parent))

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
        until(lambda: not left_in(path.parent))

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
            assert not left_in(default)
            assert share_restore() == (0, f"no journals in {default}\n")


def test_a_guardian_that_ends_with_its_journal_is_not_replaced(path):
    said = []
    with held(path, said.append):
        pass
    assert said == [] and not left_in(path.parent)


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
@pytest.mark.parametrize("last", [RAISED, ORDINARY], ids=["raised", "lowered"])
@pytest.mark.parametrize("by", ["put back", "restored"])
def test_the_timer_slack_that_a_real_time_thread_loses_is_put_back(path, one, by, last):
    """One that is lowered again has its default, which nobody has set."""
    threads.write(one.pid, {"timer_slack_ns": 7})
    before = threads.read(one.pid)
    with closing(Journal(path)) as mine:
        mine.allow(one.pid, policy=[ORDINARY, RAISED])
        for policy in (RAISED, last):
            threads.write(one.pid, {"policy": policy})  # as the slicer does
        assert threads.read(one.pid)["timer_slack_ns"] != 7
        if by == "put back":
            assert mine.put_back(one.pid) == []
        else:
            contents = journal.read(path)
            assert left_behind.restore_contents(contents) == [] and not contents.entries
        assert threads.read(one.pid) == before


@needs_rights
def test_what_a_thread_chose_itself_meanwhile_stays_and_is_said(mine, one):
    mine.change(one.pid, affinity=(0,), nice=5)
    os.setpriority(os.PRIO_PROCESS, one.pid, 9)
    (said,) = mine.put_back(one.pid)
    assert f"thread {one.pid} has changed its nice itself" in said
    assert os.getpriority(os.PRIO_PROCESS, one.pid) == 9 and os.sched_getaffinity(one.pid) == ALL


@needs_rights
@pytest.mark.parametrize("by", ["put back", "restored"])
@pytest.mark.parametrize(
    ("policy", "nice", "given", "taken", "kept"),
    [
        ((sched.OTHER, 0, 0), 0, -6, ((sched.BATCH, 0, 0), -4), ((sched.BATCH, 0, 0), 0)),
        ((sched.OTHER, 0, 0), 19, 0, ((sched.BATCH, 0, 0), 1), ((sched.BATCH, 0, 0), 19)),
        ((sched.IDLE, 0, 0), 0, 0, ((sched.BATCH, 0, 0), 1), ((sched.IDLE, 0, 0), 1)),
        ((sched.OTHER, 0, 0), -8, -6, ((sched.OTHER, 0, 0), -4), ((sched.OTHER, 0, 0), -4)),
    ],
    ids=["negative", "polite", "idle", "its own"],
)
def test_what_a_thread_has_taken_itself_stays_as_far_as_it_needed_no_value_of_ours(
    path, one, by, policy, nice, given, taken, kept
):
    threads.write(one.pid, {"policy": policy, "nice": nice})
    with closing(Journal(path)) as mine:
        mine.change(one.pid, policy=(sched.OTHER, 0, 0), nice=given)
        threads.write(one.pid, {"policy": taken[0], "nice": taken[1]})
        if by == "put back":
            mine.put_back(one.pid)
        else:
            contents = journal.read(path)
            left_behind.restore_contents(contents)
            assert not contents.entries
        now = threads.read(one.pid)
        assert (now["policy"], now["nice"]) == kept


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
    for take in (left_behind.restore, lambda path: Journal(path).close()):
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
    before, ours = threads.read(one.pid) | {"policy": NO_POLICY}, {"policy": [threads.read(one.pid)["policy"]]}
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
    assert not left_behind.restore(path).failed and threads.read(one.pid) == before


def test_a_guardian_is_not_waited_for_if_something_could_not_be_restored(path, one, monkeypatch):
    """It waits for our end, to try again."""
    with held(path) as guarded:
        guarded.change(one.pid, nice=5)
        monkeypatch.setattr(threads, "write", refuses(errno.EPERM))
    assert path.exists()


@needs_rights
def test_a_cgroup_that_is_gone_keeps_no_thread_in_ours(mine):
    """It stays within the limits of the cgroups above, which its user cannot remove."""
    with cpu_cgroup("windtunnel-test") as (hierarchy, group), cpu_cgroup("windtunnel-test-limited") as (_, limited):
        own = f"{limited}/own/inner"
        directory = threads.mounts()[hierarchy] / own[1:]
        directory.mkdir(parents=True)
        with tenant() as one:
            threads.move(one.pid, hierarchy, own)
            before = threads.read(one.pid)
            mine.change(one.pid, nice=5, cgroups={hierarchy: group})
            directory.rmdir()
            directory.parent.rmdir()
            (said,) = mine.put_back(one.pid)
            assert f"its cgroup {hierarchy} {own} is gone: it is in {limited} now" in said and mine.tids == []
            assert threads.read(one.pid) == before | {f"cgroup {hierarchy}": limited}


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
        assert {path.name for path in left_in(default)} == {"c.journal", "d.journal"}


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
        before = threads.read(one.pid) | {"policy": NO_POLICY, "nice": 3}
        os.setpriority(os.PRIO_PROCESS, one.pid, 7)
        ours = {"nice": [7], "policy": [threads.read(one.pid)["policy"]]}
        path = recorded(default / "a.journal", entry_of(one.pid, before, ours))
        code, said = share_restore()
        assert code == 2 and "policy could not be restored" in said and "the journal is kept" in said
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == 3 and path.exists()
    assert share_restore()[0] == 0 and not path.exists()


@needs_rights
def test_restore_removes_the_shields_of_those_who_ended(default, alone, one, monkeypatch):
    """Who is in one, and in no journal, is moved out, with no right that not everybody has."""
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
        os.setpriority(os.PRIO_PROCESS, one.pid, -5)
        with monkeypatch.context() as refusing:
            refusing.setattr(threads, "move", refuses(errno.EPERM))
            code, said = share_restore()
        assert code == 2 and f"{theirs}: cannot be removed" in said and theirs.exists()
        code, said = share_restore()
        assert code == 0 and f"thread {one.pid}: moved from {theirs} to {where}" in said and not theirs.exists()
        assert os.getpriority(os.PRIO_PROCESS, one.pid) == 0
        os.setpriority(os.PRIO_PROCESS, one.pid, int(before["nice"]))
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
            left_behind.restore(recorded(path, helpers=helpers))
            assert ours.wait(30) == -signal.SIGKILL
            assert one.poll() is None and unnamed.poll() is None
        finally:
            ours.kill()
            unnamed.kill()


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
@pytest.mark.root
def test_the_default_slice_is_that_of_an_ordinary_thread_whoever_asks():
    """A daemon is a real-time thread where be has no CPUs: what it did not know it could not restore."""
    known = sched.default_slice_ns()
    asked = []

    def ask():
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        asked.append(sched.default_slice_ns.__wrapped__())

    thread = Thread(target=ask)
    thread.start()
    thread.join()
    assert asked == [known]
