"""Threads of this machine, from /proc."""

import os
import threading
from pathlib import Path

import pytest
from sharing_tools import tenant, until

from windtunnel.sharing import threads

NO_TID = 2**30
FORKS = "\nimport subprocess, sys\nwith subprocess.Popen(['sleep', '60']) as one: print(one.pid, flush=True)"


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
