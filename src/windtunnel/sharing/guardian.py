"""python -m windtunnel.sharing.guardian JOURNAL FD: waits until the pipe FD has no writer left, then puts everything back."""

import contextlib
import os
import signal
import sys
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.sharing.places import restore


def main(path: Path, fd: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # whoever ends everything politely ends the holder, and with it us
    while os.read(fd, 4096):
        pass
    if path.exists():
        # A holder that lives has taken the journal over from the one that we stood by, and has a guardian of its own.
        with contextlib.suppress(UserError):
            restore(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
