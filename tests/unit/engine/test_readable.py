"""Descriptors are waited for whatever their numbers."""

import os
import resource

import pytest

from windtunnel.engine.ask import ask
from windtunnel.engine.readable import readable


@pytest.fixture
def many_files():
    """Descriptors from now on are above those that select takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip("no more than 2,048 files are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    yield
    for each in held:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_pipe_is_readable_when_it_has_bytes_or_an_end(many_files):
    read, write = os.pipe()
    other, rest = os.pipe()
    assert read > 1023 and not readable(read, other, seconds=0)
    os.write(rest, b"x")
    assert not readable(read, other) and readable(other, read)
    os.close(write)
    assert readable(read)
    for each in (read, other, rest):
        os.close(each)


def test_a_program_is_asked_with_many_files_open(many_files):
    ended = ask(["echo", "hello"], 60)
    assert ended is not None and (ended.code, ended.output) == (0, "hello\n")
