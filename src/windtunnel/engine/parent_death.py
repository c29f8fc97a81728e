"""Processes that end with the process that has started them, even if that one is killed.

The first program of such a process is this module: it asks the kernel for a signal at its parent's death (PR_SET_PDEATHSIG of prctl(2)), and then
becomes the command, which keeps that. What the command itself starts does not inherit it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def ending_with_us(command: Sequence[str], number: signal.Signals) -> list[str]:
    """The command, as arguments of a process that gets this signal when the thread ends that starts it, and so with this process."""
    return [sys.executable, "-P", "-m", __name__, str(os.getpid()), str(int(number)), *command]


def main(parent: int, number: int, command: list[str]) -> None:
    """Becomes the command. Raises OSError if there is no such program."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel was asked
        os.kill(os.getpid(), number)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
