"""The sockets of the daemon. Any user may be the first at a port, or at a name in /tmp: tenants are shared all the same, and the daemon listens once
the place is free."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress

from windtunnel.api.errors import UserError
from windtunnel.api.http import ListeningSocket, Taken

AGAIN_S = 0.5
"""Between two tries."""
Opens = Callable[[ExitStack], ListeningSocket]
"""Opens a socket that the stack closes. Raises UserError."""


class Listening:
    """Sockets by name: those that are open, and those whose place another process has."""

    def __init__(self, stack: ExitStack):
        self._stack = stack.enter_context(ExitStack())  # which takes in what is opened later
        self.sockets: dict[str, ListeningSocket] = {}
        self.taken: dict[str, Taken] = {}
        self._opens: dict[str, Opens] = {}

    def open(self, name: str, opens: Opens) -> None:
        """Raises UserError."""
        self.sockets[name] = opens(self._stack)

    def open_or_wait(self, name: str, opens: Opens) -> None:
        """One without which tenants are shared, too. Raises UserError if something else keeps it from being opened than another process."""
        try:
            self.open(name, opens)
        except Taken as error:
            self.taken[name], self._opens[name] = error, opens

    async def wait_for(self, name: str) -> ListeningSocket:
        """The socket, as soon as it is open."""
        while name in self.taken:
            await asyncio.sleep(AGAIN_S)
            with suppress(UserError):
                self.open(name, self._opens[name])
                del self.taken[name]
        return self.sockets[name]
