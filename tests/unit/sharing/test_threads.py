"""Threads of this machine, from /proc."""

import os
import threading
from pathlib import Path

import pytest
from sharing_tools import tenant, until

from windtunnel.sharing import threads
from windtunnel.sharing.softirqs import softirq_threads

NO_TID = 2**30
FORKS = "sleep 60 &\necho $!\nread line"


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


@pytest.mark.slow
@pytest.mark.parametrize("told", [False, True])
def test_children_are_found_whether_the_kernel_tells_them_or_not(monkeypatch, told):
    if not told:
        monkeypatch.setattr(Path, "exists", lambda path: False)
    with tenant(FORKS) as one:
        child = int(one.stdout.readline())
        try:
            assert {os.getpid(), child} <= set(threads.pids())
            assert threads.with_children([one.pid], threads.children()) == [one.pid, child]
        finally:
            os.kill(child, 9)


def test_a_process_of_that_name_is_no_softirq_thread(tmp_path, monkeypatch):
    for pid, name, flags in (
        (11, "ksoftirqd/0", 0x04208040),
        (12, "ksoftirqd/0", 0x00400000),
        (13, "ksoftirqd/1", 0x04208040),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) S 2 0 0 0 -1 {flags}{' 0' * 14}\n")
        (tmp_path / str(pid) / "status").write_text(f"Tgid: {pid}\n")
    (tmp_path / "14").mkdir()  # has ended meanwhile
    monkeypatch.setattr(threads, "PROC", tmp_path)
    assert softirq_threads([0]) == [11]
