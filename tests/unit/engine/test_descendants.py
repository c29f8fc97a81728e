"""What something has started is ended wherever it is, and nothing is kept open."""

import os
import subprocess
import sys
import time

import pytest

from windtunnel.engine import descendants

LEAVES = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(os.getpid(), flush=True)
time.sleep(600)
"""


def start(mark: str) -> int:
    """A process that has left its parent, its group and its session."""
    environment = os.environ | {descendants.MARK: mark}
    with subprocess.Popen([sys.executable, "-c", LEAVES], env=environment, stdout=subprocess.PIPE) as process:
        return int(process.stdout.readline())


def test_all_with_the_mark_are_ended_and_no_others():
    ours, others = [start("ours") for _ in range(2)], start("others")
    descendants.kill(None, "ours")
    end = time.monotonic() + 60
    while any(lives(pid) for pid in ours):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert lives(others)
    descendants.kill(None, "others")


BELOW = """
import os, subprocess, sys
print(os.getpid(), subprocess.Popen(["sleep", "600"], env={}, start_new_session=True).pid, flush=True)
sys.stdin.read()
"""


def test_all_below_are_ended_and_not_the_ancestor():
    nested = ["sh", "-c", '"$@"; read -r end', "sh", sys.executable, "-c", BELOW]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(nested, **pipes) as process, subprocess.Popen(["sleep", "600"]) as beside:
        below = [int(pid) for pid in process.stdout.readline().split()]
        descendants.kill(process.pid)
        end = time.monotonic() + 60
        while any(map(lives, below)):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert lives(process.pid) and lives(beside.pid)
        process.communicate()
        beside.kill()


def test_an_ancestor_of_others_is_refused(monkeypatch):
    def killed(pid_fd: int, number: int) -> None:
        raise AssertionError

    monkeypatch.setattr(descendants.signal, "pidfd_send_signal", killed)
    for ancestor in (0, 1, os.getppid(), os.getpid()):
        with pytest.raises(ValueError, match="children that are not ours"):
            descendants.kill(ancestor)


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_no_descriptor_is_kept_while_processes_come_and_go():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(30):
        subprocess.Popen(["true"]).wait()
        with subprocess.Popen(["sleep", "0"]) as sleeping:
            descendants.kill(sleeping.pid, "nobody's")
    assert len(os.listdir("/proc/self/fd")) <= before


def test_what_another_user_has_in_the_environment_is_not_read(monkeypatch):
    """Who has it in a file system of their own would keep root waiting."""
    monkeypatch.setattr(os, "geteuid", lambda: 61_871)
    monkeypatch.setattr(descendants.proc, "text", lambda place: pytest.fail(f"reads {place}"))
    assert not descendants._has(os.getpid(), b"PATH=")
