"""Threads to share: processes that sleep or poll, made for a test and ended by it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from windtunnel.sharing import threads

PATIENCE_S = 30.0
POLL = "\nwhile True: pass"
SLEEP = "\nimport time\nwhile True: time.sleep(60)"

needs_rights = pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_SYS_NICE: only root may raise a priority again")


@contextmanager
def tenant(code: str = SLEEP) -> Iterator[subprocess.Popen]:
    """A Python process that runs `code` after it has said that it is there."""
    process = subprocess.Popen(
        [sys.executable, "-c", "print('ready', flush=True)\n" + code],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()


def until(true: Callable[[], object]) -> None:
    """Waits until it is; fails after a patience that no working program needs."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.005)


def as_before(tid: int, before: threads.Fields) -> Callable[[], bool]:
    return lambda: threads.read(tid) == before


def _empty(group: Path) -> bool:
    return not (group / "cgroup.procs").read_text()


@contextmanager
def cpu_cgroup(name: str) -> Iterator[tuple[str, str]]:
    """A cgroup of the cpu controller: hierarchy and path. Skips in words where there is none to be had."""
    for hierarchy, where in threads.mounts().items():
        if "cpu" in hierarchy.split(",") or (
            not hierarchy and "cpu" in (where / "cgroup.controllers").read_text().split()
        ):
            group: Path = where / name
            try:
                group.mkdir()
            except OSError as error:
                pytest.skip(f"no cgroup can be made in {where}: {error.strerror}")
            try:
                yield hierarchy, f"/{name}"
            finally:
                until(partial(_empty, group))
                group.rmdir()
            return
    pytest.skip("no cgroup hierarchy with the cpu controller")
