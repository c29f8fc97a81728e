"""Two engines that alternate on the same cores: each runs a window, is parked, and passes the turn to the other.

The turn is a byte that circulates through two pipes (engine/run/turns.h has the other half). An engine that ends closes its
pipe, and the one that is left has all turns to itself.
"""

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Self

from windtunnel.engine.lines import AnyLine, Phase

READY = "waiting for its turn"
"""Phase in which an engine may be given its first turn."""


class Place:
    """One engine's place in the round: the descriptors that its process inherits, and a listener for its lines."""

    def __init__(self, turns: "Turns", incoming: int, outgoing: int):
        self._turns = turns
        self.incoming, self.outgoing = incoming, outgoing
        self._open = True

    def close(self) -> None:
        """Once the engine has them, or will not start: only then does its end close the pipes."""
        if self._open:
            self._open = False
            os.close(self.incoming)
            os.close(self.outgoing)

    def line(self, name: str, line: AnyLine, text: str) -> None:
        """A listener of the supervisor."""
        if isinstance(line, Phase) and line.name == READY:
            self._turns.one_is_ready()


class Turns:
    """Context manager of a round of two. Its runs are watched by a thread each."""

    def __init__(self) -> None:
        to_second, to_first = os.pipe(), os.pipe()
        self.first = Place(self, to_first[0], to_second[1])
        self.second = Place(self, to_second[0], to_first[1])
        self._starter = os.dup(to_first[1])
        self._waiting = 2
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for place in (self.first, self.second):
            self.leave(place)

    @contextlib.contextmanager
    def taking(self, place: Place) -> Iterator[Place]:
        """During its run. A run that leaves does not wait and blocks no other."""
        try:
            yield place
        finally:
            self.leave(place)

    def one_is_ready(self) -> None:
        """The first turn starts when both engines are ready."""
        with self._lock:
            self._waiting -= 1
            if self._waiting == 0:
                with contextlib.suppress(
                    BrokenPipeError
                ):  # the first one died after it was ready: the other has all turns
                    os.write(self._starter, b"t")
                self._close_starter()

    def leave(self, place: Place) -> None:
        with self._lock:
            place.close()
            self._close_starter()

    def _close_starter(self) -> None:
        if self._starter >= 0:
            os.close(self._starter)
            self._starter = -1
