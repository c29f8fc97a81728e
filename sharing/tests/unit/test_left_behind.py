"""What a killed holder has left is restored, also what shows only when the killed have ended."""

import fcntl
import os
import threading
import time
from importlib import import_module

import pytest
from journal_tools import entry_of
from sharing_tools import needs_rights, python_tenant, share_restore, until

from windtunnel.errors import UserError
from windtunnel_sharing import journal, left_behind, sched, threads
from windtunnel_sharing.entries import Entries
from windtunnel_sharing.journal import Contents
from windtunnel_sharing.threads import Process

STARTS_A_THREAD = """
import sys, threading, time
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@needs_rights
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


def test_whoever_may_only_read_the_directory_keeps_no_restore_waiting(path):
    """As the `state` of a daemon, which root has made for all to read."""
    path.parent.chmod(0o755)
    journal.File(path, Contents(holder=Process(1, 1))).close()
    directory = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    try:
        restoring = threading.Thread(target=left_behind.restore, args=(path,), daemon=True)
        restoring.start()
        until(lambda: not path.exists())
        restoring.join()
    finally:
        os.close(directory)


def test_a_journal_that_another_process_restores_is_not_waited_for_without_end(path, monkeypatch):
    monkeypatch.setattr(left_behind, "PATIENCE_S", 0)
    journal.File(path, Contents(holder=Process(1, 1))).close()
    told = []
    with left_behind.locked(path):
        with pytest.raises(UserError, match=f"{path}: another process takes over or restores a journal there") as busy:
            left_behind.restore(path)
        monkeypatch.setattr(left_behind, "journals", lambda: [path])
        left_behind.restore_all(told.append)
    assert "fuser -v" in busy.value.remedy and "left as it is" in told[0] and path.exists()
    assert not left_behind.restore(path).failed and not path.exists()


def test_one_journal_that_cannot_be_restored_keeps_no_other_one_from_it(tmp_path, monkeypatch, capsys):
    """Also where nobody has foreseen what is wrong with it."""
    paths = [tmp_path / f"{name}.journal" for name in "abc"]
    for path in paths:
        journal.File(path, Contents(holder=Process(1, 1))).close()
    paths[0].write_text(paths[0].read_text() + '{"is": "helper", "pid": 1e999, "started": 1}\n')
    read, command = journal.read, import_module("windtunnel_sharing.cli.restore")
    monkeypatch.setattr(journal, "read", lambda path: read(path) if path != paths[1] else 1 // 0)
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path / "run"))
    monkeypatch.setattr(command, "_remove_groups", list)
    monkeypatch.setattr("windtunnel.api.host.places.remove_all_stale", lambda: None)
    with pytest.raises(UserError, match=r"a.journal.*not a journal(.|\n)*ZeroDivisionError"):
        command.restore(paths)
    assert [path.exists() for path in paths] == [True, True, False]
    assert f"{paths[2]}: 0 threads restored" in capsys.readouterr().out


def test_a_journal_that_is_restored_from_meanwhile_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(left_behind, "journals", lambda: [tmp_path / "gone.journal"])
    code, output = share_restore()
    assert code == 0 and "gone.journal" not in output
    code, output = share_restore(tmp_path / "gone.journal")
    assert code == 2 and "no such journal" in output
