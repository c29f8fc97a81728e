"""What something has started is ended wherever it is, and nothing is kept open."""

import os
import subprocess
import sys
import time

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
    descendants.kill("ours")
    end = time.monotonic() + 60
    while any(lives(pid) for pid in ours):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert lives(others)
    descendants.kill("others")


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
        with subprocess.Popen(["sleep", "0"]):
            descendants.kill("nobody's")
    assert len(os.listdir("/proc/self/fd")) <= before
