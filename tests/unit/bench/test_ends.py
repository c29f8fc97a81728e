"""A bench that is ended with SIGTERM ends what it has started; one that cannot go on shows what it has."""

import os
import signal
import subprocess
import time
from multiprocessing import get_context

import pytest
from bench_tools import Spread, finish, results

from windtunnel.errors import UserError


@pytest.fixture
def kept_handler():
    """A bench takes SIGTERM for itself."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("kept_handler")
def test_what_was_measured_is_shown_and_kept_where_the_rest_cannot_be(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)

    def measured():
        yield results.Result("the first case", "no-huge", Spread(1.0, 0.9, 1.1, 15, "95%"), "x")
        raise UserError("the second one does not run")

    with pytest.raises(SystemExit) as ended:
        finish(measured())
    assert ended.value.code == 2
    said = capsys.readouterr().out
    assert "the first case" in said and "the second one does not run" in said
    assert "the first case" in next(tmp_path.glob("results-*.json")).read_text()


def bench(test) -> None:
    """Has a program, and ends it as soon as the test lets it."""

    def measured():
        program = subprocess.Popen(["sleep", "600"])
        try:
            test.send(program.pid)
            time.sleep(600)
        finally:
            test.send("ends")
            test.recv()
            program.kill()
            program.wait()
        yield

    finish(measured())


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_what_it_started_is_ended_however_often_it_is_told(signals):
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=bench, args=(theirs,))
    process.start()
    theirs.close()
    program = ours.recv()
    process.terminate()
    assert ours.recv() == "ends"
    if signals == 2:
        process.terminate()
    ours.send("go on")
    process.join()
    assert process.exitcode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(program, signal.SIGKILL)
