"""Waiting for descriptors, whatever their numbers: select(2) takes none above 1,023."""

import select


def readable(descriptor: int, *others: int, seconds: float | None = None) -> bool:
    """Waits until one of them can be read from, or has an end, at most so long. Returns whether the first one can."""
    poll = select.poll()
    for watched in (descriptor, *others):
        poll.register(watched, select.POLLIN)
    return descriptor in dict(poll.poll(None if seconds is None else 1000 * seconds))
