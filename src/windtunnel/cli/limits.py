"""Limits of the shell that are too low: they are raised if that is allowed, else an error names them before a process fails."""

import contextlib
import resource

from windtunnel.errors import UserError

LEAST_FILES, FILES = 64, 1024
"""Files open at a time, in this process or in an engine."""
LEAST_STACK_KIB, STACK_KIB = 1024, 8192
"""Stack of the main thread, and so of every thread that DPDK starts; with less they die of SIGSEGV, without a message."""


def check_limits() -> None:
    """Raises UserError if a limit is too low and may not be raised."""
    files = _raised(resource.RLIMIT_NOFILE, LEAST_FILES, FILES)
    if files is not None:
        raise UserError(f"only {files} files may be open at once, and {LEAST_FILES} are needed", f"ulimit -n {FILES}")
    stack = _raised(resource.RLIMIT_STACK, LEAST_STACK_KIB << 10, STACK_KIB << 10)
    if stack is not None:
        raise UserError(
            f"the stack may have {stack >> 10} KiB, and {LEAST_STACK_KIB} are needed", f"ulimit -s {STACK_KIB}"
        )


def _raised(resource_id: int, least: int, target: int) -> int | None:
    """The limit if it is too low and cannot be raised; None: it is high enough, or has been raised."""
    soft, hard = resource.getrlimit(resource_id)
    if soft == resource.RLIM_INFINITY or soft >= least:
        return None
    highest = hard if hard == resource.RLIM_INFINITY else max(hard, target)
    for limits in ((target, highest), (hard, hard)):  # the first needs a privilege if the hard limit is low, too
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource_id, limits)
            return None if limits[0] >= least else limits[0]
    return soft
