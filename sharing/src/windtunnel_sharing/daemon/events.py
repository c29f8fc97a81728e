"""What happened, numbered, for those who watch. Bounded: who does not keep up is told so and dropped."""

import asyncio
import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

KEPT = 128
"""Of one kind: whatever a tenant can cause again and again displaces no events of another kind."""
MOST_TEXT = 2000
"""Characters of a fact: tenants choose the names of cgroups, of which there may be a dozen in one."""
MOST_TOLD = 16
"""Numbers of threads in one event, beside their count."""
WAITING = 256
MOST_WATCHERS, MOST_OF_ONE = 32, 8
"""In all; of who holds one token: so there is room for the others, and for the owner of the Unix socket."""
Event = dict[str, Any]


def shown(value: Any) -> Any:
    """Names of processes and cgroups may be of any bytes, and JSON has none that are not UTF-8."""
    if not isinstance(value, str):
        return value
    text = os.fsencode(value).decode(errors="backslashreplace")
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."


class Events:
    """The last events, and the watchers."""

    def __init__(self) -> None:
        self.last = 0
        """Number of the latest event; 0 before the first."""
        self._kept: dict[str, deque[Event]] = {}
        self._watchers: dict[asyncio.Queue[Event | None], int | None] = {}

    def publish(self, what: str, **facts: Any) -> None:
        """One event. `what` is its kind; None facts are left out."""
        self.last += 1
        event = {"id": self.last, "at": time.time(), "event": what}
        event |= {key: shown(value) for key, value in facts.items() if value is not None}
        self._kept.setdefault(what, deque(maxlen=KEPT)).append(event)
        for queue in list(self._watchers):
            if queue.full():
                self._drop(queue)
            else:
                queue.put_nowait(event)

    def since(self, number: int) -> list[Event]:
        """Events after that one, as far as they are kept."""
        found = [event for kind in self._kept.values() for event in kind if event["id"] > number]
        return sorted(found, key=itemgetter("id"))

    def full(self, holder: int | None = None) -> bool:
        """One watcher more would be too many. `holder`: of which token, if of one."""
        of_one = sum(other == holder for other in self._watchers.values())
        return len(self._watchers) >= MOST_WATCHERS or (holder is not None and of_one >= MOST_OF_ONE)

    @contextmanager
    def watch(self, since: int | None = None, holder: int | None = None) -> Iterator[asyncio.Queue[Event | None]]:
        """A queue of events to come, those after `since` first; its last element is None when the watcher is dropped."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(WAITING + 1)
        for event in (self.since(since) if since is not None else [])[-WAITING:]:
            queue.put_nowait(event)
        self._watchers[queue] = holder
        try:
            yield queue
        finally:
            self._watchers.pop(queue, None)

    def _drop(self, queue: asyncio.Queue[Event | None]) -> None:
        self._watchers.pop(queue, None)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
