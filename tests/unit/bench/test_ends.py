"""A bench that is ended with SIGTERM ends what it has started; one that cannot go on shows what it has."""

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

STOPPED = """
import sys
from pathlib import Path
from harness import results
from harness.main import main
from harness.statistics import Spread
from windtunnel.errors import UserError

results.DIRECTORY = Path(sys.argv.pop(1))

def measure(session):
    yield results.Result("the first case", "no-huge", Spread(1.0, 0.9, 1.1, 15, "95%"), "x")
    raise UserError("the second one does not run")

main("A bench.", measure)
"""


def started(program: str, *words: str) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(Path(__file__).parents[3] / "bench"), *sys.path))
    command = [sys.executable, "-c", program, *words, "--memory", "no-huge"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path})


@pytest.mark.slow
def test_what_was_measured_is_shown_and_kept_where_the_rest_cannot_be(tmp_path):
    with started(STOPPED, str(tmp_path)) as bench:
        said = bench.stdout.read()
    assert bench.returncode == 2
    assert "the first case" in said and "the second one does not run" in said
    assert "the first case" in next(tmp_path.glob("results-*.json")).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_what_it_started_is_ended_however_often_it_is_told(tmp_path, signals):
    with started(BENCH) as bench:
        program = int(bench.stdout.readline())
        bench.send_signal(signal.SIGTERM)
        assert bench.stdout.readline() == "ends\n"
        if signals == 2:
            bench.send_signal(signal.SIGTERM)
        assert bench.wait() == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(program, signal.SIGKILL)
