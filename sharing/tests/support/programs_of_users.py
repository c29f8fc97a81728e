"""Programs of other users of this host that run as long as a test needs them."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from other_users import python, user
from sharing_tools import ENDS_WITH_US, SLEEP


@contextmanager
def started_by(uid: int, *command: object) -> Iterator[subprocess.Popen]:
    """A process of this user, once it has said that it is ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*ENDS_WITH_US, *map(str, command)], **pipes, **user(uid)) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def process_of(uid: int) -> AbstractContextManager[subprocess.Popen]:
    """That sleeps, at nice 5: there is room to make it nicer."""
    return started_by(uid, "nice", "-n", "5", "sh", "-c", f"echo ready\n{SLEEP}")


def program_of(uid: int, code: str, *words: object) -> AbstractContextManager[subprocess.Popen]:
    """A Python program, once it has said that it is ready."""
    return started_by(uid, python(uid), "-c", code, *words)
