"""windtunnel copies of, from the command to the file."""

import json
import os
import signal
import subprocess
from contextlib import suppress

import pytest
from command_line import command, in_process
from program_samples import COPYING, copies_of, document, engine_of

from windtunnel.engine.find import find_engine

pytestmark = pytest.mark.slow


def test_a_program_is_counted_and_compared_with_the_copiers_of_this_host(tmp_path, one_round):
    words = ("copies", "of", "--out", "kept", "--json", "--", COPYING, "memcpy:65536:3000:8388608:0")
    done = in_process(*words, cwd=tmp_path, WINDTUNNEL_ENGINE=str(find_engine()))
    assert done.returncode == 0, done.stderr
    values = document(done)
    assert json.loads((tmp_path / "kept/copies.json").read_text()) == values
    assert [(each["least_bytes"], each["copies"]) for each in values["sizes"]] == [(65536, 3000)]
    kinds = {each["copier"]: each["kind"] for each in values["copiers"]}
    assert kinds["model"] == "modelled" and kinds["cpu_nt"] == "core"
    [cost] = next(each["costs"] for each in values["copiers"] if each["copier"] == "model")
    assert 0 < cost["caller_ns"] < cost["whole_ns"]
    assert any(note.startswith("assumed: ") for note in values["notes"])
    page = (tmp_path / "kept/report.html").read_text()
    assert "modelled: the costs of dsa-spr" in page and "not seen: copies that a compiler made inline" in page


def test_the_output_of_the_command_leaves_stdout_to_the_result(tmp_path):
    done = copies_of("--", "sh", "-c", "echo its own $((40 + 2)); exit 4", cwd=tmp_path, **engine_of(tmp_path))
    assert done.returncode == 1
    assert "its own 42" not in done.stdout and "its own 42" in done.stderr
    assert "sh ended with 4" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--", "no-such-program"], "no such program"),
        (["--for", "1ms", "--", "true"], "--for"),
        (["--profile", "dsa", "--", "true"], 'no profile "dsa"'),
        (["--out", ".", "--", "true"], "exists already"),
    ],
)
def test_bad_input_is_refused_before_the_program_begins(tmp_path, arguments, words):
    done = copies_of(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr


def test_an_interrupt_ends_the_program_and_shows_what_it_copied(tmp_path):
    program = "import time; print('begun', flush=True); time.sleep(60)"
    words = command("copies", "of", "--", "python3", "-c", program)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes, env=os.environ | engine_of(tmp_path), start_new_session=True) as of:
        try:
            while "begun" not in of.stderr.readline():
                assert of.poll() is None
            os.killpg(of.pid, signal.SIGINT)
            printed, _ = of.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(of.pid, signal.SIGKILL)
    assert of.returncode == 128 + signal.SIGINT
    assert "What python3 copies" in printed and "CPU time" in printed


def test_a_program_without_a_copy_is_said_and_is_no_failure(tmp_path):
    done = copies_of("--", "sleep", "0.1", cwd=tmp_path, **engine_of(tmp_path))
    assert done.returncode == 0 and "sleep called none of memcpy, memmove and mempcpy" in done.stdout


def test_names_that_a_terminal_obeys_are_shown_as_text(tmp_path):
    odd = tmp_path / "\x1b]0;owned\x07"
    odd.symlink_to(COPYING)
    done = copies_of("--", odd, "memcpy:100:10:4096:0", cwd=tmp_path, **engine_of(tmp_path))
    assert done.returncode == 0 and "owned" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
