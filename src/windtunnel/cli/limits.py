"""Limits of the shell under which nothing works: raised where that is allowed, else said in words before something dies of them."""

import contextlib
import resource

from windtunnel.errors import UserError

LEAST_FILES, FILES = 64, 1024
"""Open at once, in this process or in an engine."""
LEAST_STACK_KIB, STACK_KIB = 1024, 8192
"""Of the main thread, and by it of every thread that DPDK starts; on less they die of SIGSEGV, without a word."""


def check_limits() -> None:
    """Raises UserError where a limit is too low and may not be raised."""
    files = _raised(resource.RLIMIT_NOFILE, LEAST_FILES, FILES)
    if files is not None:
        raise UserError(f"only {files} files may be open at once, and {LEAST_FILES} are needed", f"ulimit -n {FILES}")
    stack = _raised(resource.RLIMIT_STACK, LEAST_STACK_KIB << 10, STACK_KIB << 10)
    if stack is not None:
        raise UserError(
            f"the stack may have {stack >> 10} KiB, and {LEAST_STACK_KIB} are needed", f"ulimit -s {STACK_KIB}"
        )


def _raised(which: int, least: int, wanted: int) -> int | None:
    """The limit, where it is too low and stays so; None: it is high enough, or has been raised."""
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or soft >= least:
        return None
    highest = hard if hard == resource.RLIM_INFINITY else max(hard, wanted)
    for limits in ((wanted, highest), (hard, hard)):  # the first needs a right where the hard limit is low too
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, limits)
            return None if limits[0] >= least else limits[0]
    return soft
