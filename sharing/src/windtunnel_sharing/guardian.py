"""python -m windtunnel_sharing.guardian JOURNAL FD PID STARTED: waits until the pipe FD has no writer left and that process is dead, then
puts everything back."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from windtunnel.api.errors import UserError, in_words
from windtunnel_sharing import sched
from windtunnel_sharing.left_behind import restore
from windtunnel_sharing.threads import Process

PATIENCE_S = 30.0


def main(path: Path, fd: int, holder: Process) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever ends everything politely ends the holder, and with it us
    sched.default_slice_ns()  # in a thread, which a host that is full may refuse later
    while os.read(fd, 4096):
        pass
    # A process that is killed closes its files a moment before it counts as dead.
    deadline = time.monotonic() + PATIENCE_S
    while path.exists() and holder.lives and time.monotonic() < deadline:
        time.sleep(0.001)
    if path.exists():
        # A holder that lives has taken the journal over from the one that we stood by, and has a guardian of its own.
        with contextlib.suppress(UserError), in_words():
            restore(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Process(int(sys.argv[3]), int(sys.argv[4])))
