"""Threads of this machine, from /proc."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from journal_tools import LOOKS, raises_for
from sharing_tools import first_thread_ends, tenant, until

from windtunnel_sharing import threads
from windtunnel_sharing.softirqs import softirq_threads

NO_TID = 2**30
FORKS = "sleep 60 &\necho $!\nread line"


@pytest.mark.parametrize("error", LOOKS, ids=repr)
@pytest.mark.parametrize("name", ["stat", "check_policy"])
def test_what_goes_wrong_with_one_thread_is_of_that_thread(monkeypatch, capsys, error, name):
    monkeypatch.setattr(threads, name, raises_for(os.getpid(), error, getattr(threads, name)))
    with pytest.raises((threads.Ended, threads.CannotChange)) as raised:
        threads.check(os.getpid())
    assert raised.value.tid == os.getpid()
    assert isinstance(raised.value, threads.Ended) == isinstance(error, ProcessLookupError)


def test_each_process_below_others_that_are_named_too_is_found_once():
    """In a chain of processes each was found from every one above it: of 4,000 eight million times."""
    asked = []
    chain = threads.with_children(range(40), lambda pid: asked.append(pid) or [pid + 1] * (pid < 39))
    assert list(chain) == asked == list(range(40))


def test_a_thread_has_a_name_and_has_run():
    named = []

    def ask():
        tid = threading.get_native_id()
        Path(f"/proc/self/task/{tid}/comm").write_text("a (b) c")
        until(lambda: threads.cpu_ns(tid) > 0)  # the kernel books it when the thread gives way, or at a tick
        named.append(threads.name(tid))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert named == ["a (b) c"]
    assert threads.name(NO_TID) == "" and threads.cpu_ns(NO_TID) == 0


@pytest.mark.parametrize("theirs", ["tasks", ".", ".."])
def test_whose_cgroup_is_another_users_could_not_be_put_back_whatever_its_mode_says(tmp_path, monkeypatch, theirs):
    """The owner changes the mode as they like: everybody may write, until the thread is taken out, and then nobody."""
    group = tmp_path / "one" / "two"
    group.mkdir(parents=True)
    (group / "tasks").write_text("")
    (group / "tasks").chmod(0o666)
    look, other = Path.stat, os.geteuid() + 1
    which = (group / theirs).resolve()

    def stat(path, **how):
        found = look(path, **how)
        return os.stat_result([*found[:4], other, *found[5:]]) if path == which else found

    monkeypatch.setattr(threads, "mounts", lambda: {"cpu": tmp_path})
    monkeypatch.setattr(threads, "_may_write_everything", lambda: False)
    threads.check_place(7, "cpu", "/one/two")
    threads.check_place(7, "cpu", "/")
    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(threads.CannotChange, match=f"put back to its cgroup cpu /one/two, which is of user {other}"):
        threads.check_place(7, "cpu", "/one/two")
    threads.check_place(7, "cpu", "/")
    monkeypatch.setattr(threads, "_may_write_everything", lambda: True)
    threads.check_place(7, "cpu", "/one/two")


def test_a_cgroup_whose_path_is_too_long_is_of_its_thread_alone(tmp_path, monkeypatch):
    """The kernel tells 4,095 bytes of it, and below a mount that is more than it takes."""
    monkeypatch.setattr(threads, "mounts", lambda: {"cpu": tmp_path})
    with pytest.raises(threads.CannotChange, match="thread 7: .*File name too long"), threads.of_one(7):
        threads.check_place(7, "cpu", (("/" + "x" * 200) * 21)[:4095])


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True])
def test_children_are_found_whether_the_kernel_tells_them_or_not(monkeypatch, told):
    if not told:
        monkeypatch.setattr(Path, "exists", lambda path: False)
    with tenant(FORKS) as one:
        child = int(one.stdout.readline())
        try:
            assert {os.getpid(), child} <= set(threads.pids())
            assert [*threads.with_children([one.pid], threads.children())] == [one.pid, child]
        finally:
            os.kill(child, 9)


def test_a_process_lives_as_long_as_one_of_its_threads():
    with first_thread_ends() as (process, end):
        before, started = threads.stat(process.pid), threads.started(process.pid)
        lives = threads.Process.of(process.pid)
        end()
        assert threads.process_stat(process.pid) == before and threads.process_started(process.pid) == started
        assert lives.lives and threads.started(process.pid) is None
        process.kill()
        until(lambda: threads.threads_of(process.pid) == [process.pid])
        assert threads.process_stat(process.pid) is threads.process_started(process.pid) is None, (
            "it is not waited for yet"
        )
        assert not lives.lives


@pytest.mark.parametrize(
    ("flags", "pending", "waits"),
    [(0x00400000, "0", False), (0x00400000, "102", True), (0x00400004, "0", True), (0x00400000, "4002", False)],
)
def test_a_process_stays_until_it_is_killed_and_whoever_kills_it_waits_for_its_end(
    tmp_path, monkeypatch, flags, pending, waits
):
    (tmp_path / "7" / "task" / "7").mkdir(parents=True)
    (tmp_path / "7" / "task" / "7" / "stat").write_text(f"7 (a) R 1 0 0 0 -1 {flags}{' 0' * 12} 55 0\n")
    (tmp_path / "7" / "status").write_text(f"Tgid:\t7\nSigPnd:\t0000000000000000\nShdPnd:\t{pending:0>16}\n")
    monkeypatch.setattr(threads, "PROC", tmp_path)
    waited = []

    def ends(seconds):
        waited.append(seconds)
        shutil.rmtree(tmp_path / "7")

    monkeypatch.setattr(threads.time, "sleep", ends)
    process = threads.Process.of(7)
    assert process.lives and process.stays is not waits and len(waited) == waits


def test_a_process_of_that_name_is_no_softirq_thread(tmp_path, monkeypatch):
    for pid, name, flags in (
        (11, "ksoftirqd/0", 0x04208040),
        (12, "ksoftirqd/0", 0x00400000),
        (13, "ksoftirqd/1", 0x04208040),
    ):
        own = tmp_path / str(pid) / "task" / str(pid)
        own.mkdir(parents=True)
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
        (own / "stat").write_text(f"{pid} ({name}) S 2 0 0 0 -1 {flags}{' 0' * 14}\n")
        (tmp_path / str(pid) / "status").write_text(f"Tgid:\t{pid}\nUid:\t0\t0\t0\t0\n")
    (tmp_path / "14").mkdir()  # has ended meanwhile
    monkeypatch.setattr(threads, "PROC", tmp_path)
    assert softirq_threads([0]) == [11]
