"""Ctrl-C as a file descriptor for a selector, instead of an exception in the middle of a write."""

import contextlib
import os
import signal
import threading
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Context manager: counts SIGINT, SIGTERM and SIGHUP while it is open; `fd` becomes readable with each.

    What the caller ignores (nohup, a background job of a script) stays ignored. Python gives signals to the main thread
    alone: in another one nothing is counted.
    """

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Self:
        self.fd, self._wakeup = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._wakeup, False)
        main = threading.current_thread() is threading.main_thread()
        heeded = [number for number in SIGNALS if main and signal.getsignal(number) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._take) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.fd)
        os.close(self._wakeup)

    def _take(self, *_: object) -> None:
        self.interrupt()

    def interrupt(self) -> None:
        """Interrupts as a signal does; any thread may call it."""
        self.count += 1
        os.write(self._wakeup, b"!")

    def drain(self) -> None:
        """Makes `fd` unreadable until the next signal."""
        with contextlib.suppress(BlockingIOError):  # two runs by turns wake together
            os.read(self.fd, 64)
