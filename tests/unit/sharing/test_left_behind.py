"""What a killed holder has left is restored, also what shows only when the killed have ended."""

import time

import pytest
from journal_tools import entry_of
from sharing_tools import needs_rights, python_tenant

from windtunnel.sharing import left_behind, sched, threads
from windtunnel.sharing.entries import Entries
from windtunnel.sharing.journal import Contents

pytestmark = [pytest.mark.slow, needs_rights]
STARTS_A_THREAD = """
import sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


def test_a_thread_that_shows_after_its_parent_was_restored_is_restored_too(monkeypatch):
    """As that of a fork which had begun before: it has our nice value."""
    sleep, late = time.sleep, []

    def settle(seconds: float) -> None:
        sleep(seconds)
        if seconds == left_behind.SETTLE_S:
            process.stdin.write("start\n")
            process.stdout.readline()
            late.extend(set(threads.threads_of(process.pid)) - {process.pid})
            sched.put(late[0], sched.Attributes(sched.OTHER, 0, 5, 0))

    with python_tenant(STARTS_A_THREAD) as process:
        contents = Contents(entries=Entries([entry_of(process.pid, {"nice": 0}, {"nice": [5]})]))
        monkeypatch.setattr(time, "sleep", settle)
        assert left_behind.restore_contents(contents) == []
        assert [threads.read(tid)["nice"] for tid in late] == [0]
