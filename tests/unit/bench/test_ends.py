"""A bench that is ended with SIGTERM ends what it has started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = """
import subprocess, sys, time
from harness.main import main

def measure(session):
    program = subprocess.Popen(["sleep", "600"])
    try:
        print(program.pid, flush=True)
        time.sleep(600)
    finally:
        print("ends", flush=True)
        time.sleep(0.5)
        program.kill()
        program.wait()

main("A bench.", measure)
"""


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_what_it_started_is_ended_however_often_it_is_told(tmp_path, signals):
    path = os.pathsep.join((str(Path(__file__).parents[3] / "bench"), *sys.path))
    words = [sys.executable, "-c", BENCH, "--memory", "no-huge"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}) as bench:
        program = int(bench.stdout.readline())
        bench.send_signal(signal.SIGTERM)
        assert bench.stdout.readline() == "ends\n"
        if signals == 2:
            bench.send_signal(signal.SIGTERM)
        assert bench.wait() == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(program, signal.SIGKILL)
