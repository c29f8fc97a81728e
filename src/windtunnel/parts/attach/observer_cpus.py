"""On which CPUs the observer runs: on none of the data path, if it may use others. Its work after each window took 3.5 ms there."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windtunnel.parts.attach.lines import WindowLine


@contextmanager
def kept_off_data_path() -> Iterator[Callable[[WindowLine], None]]:
    """Gives a function that keeps this thread off the CPUs on which the threads of a window ran last. At the end it may use all that it might
    before: a command that is started next inherits them."""
    allowed = os.sched_getaffinity(0)

    def keep_off(window: WindowLine) -> None:
        if others := allowed - {thread.cpu for thread in window.threads}:
            os.sched_setaffinity(0, others)

    try:
        yield keep_off
    finally:
        os.sched_setaffinity(0, allowed)
