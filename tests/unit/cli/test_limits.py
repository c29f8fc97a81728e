"""Limits of the shell: raised where that is allowed, else said in words before anything dies of them."""

import resource
import subprocess

import pytest
from scenario_tools import SHIPPED

from windtunnel.cli.limits import FILES, LEAST_FILES, LEAST_STACK_KIB, STACK_KIB, check_limits
from windtunnel.errors import UserError

NOFILE, STACK = resource.RLIMIT_NOFILE, resource.RLIMIT_STACK
ROOT = SHIPPED.parent


@pytest.fixture
def limits(monkeypatch):
    """What this process may have, soft and hard; hard limits stay where they are, as for a user without rights."""
    now = {NOFILE: (1024, 4096), STACK: (8 << 20, resource.RLIM_INFINITY)}

    def lower_alone(which, wanted):
        if now[which][1] != resource.RLIM_INFINITY and wanted[1] > now[which][1]:
            raise ValueError("not allowed to raise maximum limit")
        now[which] = wanted

    monkeypatch.setattr(resource, "getrlimit", lambda which: now[which])
    monkeypatch.setattr(resource, "setrlimit", lower_alone)
    return now


def test_enough_is_left_as_it_is(limits):
    before = dict(limits)
    check_limits()
    assert limits == before
    limits[STACK] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    check_limits()


def test_what_may_be_raised_is_raised(limits):
    limits |= {NOFILE: (10, 4096), STACK: (128 << 10, resource.RLIM_INFINITY)}
    check_limits()
    assert limits == {NOFILE: (FILES, 4096), STACK: (STACK_KIB << 10, resource.RLIM_INFINITY)}
    limits |= {NOFILE: (10, LEAST_FILES), STACK: (128 << 10, LEAST_STACK_KIB << 10)}
    check_limits()
    assert limits == {NOFILE: (LEAST_FILES,) * 2, STACK: (LEAST_STACK_KIB << 10,) * 2}


@pytest.mark.parametrize(
    ("which", "allowed", "words", "remedy"),
    [
        (NOFILE, 10, "only 10 files may be open at once, and 64 are needed", "ulimit -n 1024"),
        (STACK, 128 << 10, "the stack may have 128 KiB, and 1024 are needed", "ulimit -s 8192"),
    ],
)
def test_what_may_not_be_raised_is_said(limits, which, allowed, words, remedy):
    limits[which] = (allowed, allowed)
    with pytest.raises(UserError) as refused:
        check_limits()
    assert (refused.value.message, refused.value.remedy) == (words, remedy)


def launched(limit: str) -> subprocess.CompletedProcess:
    """The launcher under a builtin of the shell that is replaced."""
    command = ["bash", "-c", f"ulimit() {{ {limit} }}; export -f ulimit; exec {ROOT}/windtunnel --version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.slow
def test_the_launcher_says_it_before_python_dies_of_it():
    """Python itself is killed by a stack of 64 KiB."""
    done = launched("[[ $# == 2 && $1 == -[SH] ]] && echo 64;")
    assert done.returncode == 2
    assert done.stderr == "error: the stack may have 64 KiB, and 1024 are needed\n  ulimit -s 8192\n"


@pytest.mark.slow
def test_the_launcher_raises_the_stack_where_that_is_allowed():
    done = subprocess.run(
        [f"{ROOT}/windtunnel", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(STACK, (128 << 10, 8 << 20)),
    )
    assert done.returncode == 0 and done.stdout.startswith("windtunnel ")
